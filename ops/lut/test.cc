// Every lut row against the reference, on the host and on the core.
#include "ops/lut/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/lut/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  uint32_t count, channels;
};
static constexpr Shape kCases[] = {{1, 1}, {3, 1}, {15, 1},  {16, 1},  {17, 1},  {31, 1},  {64, 1},  {1000, 1},
                                   {1, 1}, {5, 5}, {48, 16}, {99, 33}, {64, 64}, {60, 20}, {34, 17}, {6, 2}};

int main() {
  for (const Shape& s : kCases) {
    const long number = &s - kCases;
    const LutParams p = {s.count, s.channels, 16};
    fill(reinterpret_cast<int8_t*>(g_image), kImageBytes);
    g_in.size[0] = s.count;
    fill(g_in.s8(0), int32_t(s.count));
    for (uint32_t i = 0; i < s.count && i < 2; i++) g_in.s8(0)[i] = i ? 127 : -128;
    lut_reference(p, reinterpret_cast<int8_t*>(g_image + p.table), g_in.s8(0), reinterpret_cast<int8_t*>(g_want));
    const Case c = {&p, sizeof p, 1, s.count, p.table + p.channels * 256};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row_in_place({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/lut/kernels.def"
#undef KERNEL
  }
  return report();
}
