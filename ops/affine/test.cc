// Every affine row against the reference, on the host and on the core.
#include "ops/affine/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/affine/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  uint32_t rows, channels;
  int lo, hi;
};
static constexpr Shape kCases[] = {{1, 1, -128, 127},  {7, 3, -128, 127}, {5, 16, -128, 127},
                                   {1, 17, 0, 127},    {9, 24, -100, 5},  {3, 200, -128, 127},
                                   {40, 4, -128, 127}, {40, 8, -5, -5},   {11, 31, -128, 127}};

static void fill_channels(AffineChannel* t, uint32_t n) {
  for (uint32_t c = 0; c < n; c++) {
    const int32_t m = random_in(-4000000, 4000000), shift = random_in(17, 22);
    t[c] = {m, random_in(-100, 100) * (1 << shift) + 12345, uint32_t(shift)};
    if (c % 7 == 3) t[c] = {INT32_MIN, INT32_MAX, 31};
    if (c % 7 == 5) t[c] = {1, -3, 0};
  }
}

int main() {
  for (const Shape& s : kCases) {
    const long number = &s - kCases;
    const AffineParams p = {s.rows, s.channels, 16, int8_t(s.lo), int8_t(s.hi), {}};
    fill(reinterpret_cast<int8_t*>(g_image), kImageBytes);
    AffineChannel* table = reinterpret_cast<AffineChannel*>(g_image + p.tables);
    fill_channels(table, s.channels);
    const uint32_t count = s.rows * s.channels;
    g_in.size[0] = count;
    fill(g_in.s8(0), int32_t(count), number % 3 == 2 ? -20 : -128, 127);
    affine_reference(p, table, g_in.s8(0), reinterpret_cast<int8_t*>(g_want));
    const Case c = {&p, sizeof p, 1, count, p.tables + p.channels * uint32_t(sizeof(AffineChannel))};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row_in_place({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/affine/kernels.def"
#undef KERNEL
  }
  return report();
}
