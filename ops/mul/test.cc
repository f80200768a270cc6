// Every mul row against the reference, on the host and on the core.
#include "ops/mul/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/mul/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shapes {
  int32_t a_rank;
  uint32_t a[5];
  int32_t b_rank;
  uint32_t b[5];
};
static constexpr Shapes kCases[] = {
    {1, {1}, 1, {1}},  // one element
    {1, {5}, 1, {5}},  // less than a vector
    {1, {16}, 1, {16}},
    {1, {259}, 1, {259}},  // a tail of 3
    {4, {1, 5, 7, 33}, 4, {1, 5, 7, 33}},
    {4, {1, 8, 8, 16}, 4, {1, 1, 1, 16}},  // per channel
    {4, {1, 3, 3, 19}, 1, {19}},
    {4, {1, 1, 1, 24}, 4, {2, 5, 5, 24}},
    {4, {2, 5, 5, 24}, 4, {2, 1, 1, 24}},  // per image and channel
    {4, {1, 4, 6, 8}, 4, {1, 4, 6, 1}},    // per pixel
    {2, {40, 7}, 1, {1}},                  // a scalar
    {1, {1}, 2, {40, 7}},
    {4, {1, 4, 3, 1}, 4, {1, 1, 1, 5}},  // an outer sum
    {2, {13, 1}, 2, {1, 37}},
    {5, {2, 1, 3, 1, 5}, 5, {1, 4, 1, 6, 5}},  // does not collapse to four dims
    {4, {2, 3, 4, 5}, 4, {2, 1, 4, 1}},
    {3, {7, 1, 40}, 2, {9, 40}},
};
struct Constants {
  Scale scale;
  int a_zero, b_zero, out_zero, lo, hi;
};
static constexpr Constants kConstants[] = {
    {{1518500250, 7}, 3, -4, 1, -128, 127},     {{1073741824, 8}, -128, -128, -128, -128, 127},
    {{2147483647, 1}, 127, -128, 0, -128, 127}, {{1200000000, -2}, 0, 0, 12, -100, 90},
    {{2147483647, -30}, 5, 6, 127, -128, 127},  {{0, 31}, 1, 1, -7, -128, 127},
    {{1900000001, 31}, 1, 1, -7, -128, 127},    {{1100000000, 0}, -1, 2, -128, -128, 127},
    {{1518500250, 8}, 3, -4, 1, -3, -3},
};

static MulParams params_of(const Shapes& s, const Constants& k) {
  MulParams p = {};
  p.scale = k.scale;
  p.a_zero = int8_t(k.a_zero), p.b_zero = int8_t(k.b_zero), p.out_zero = int8_t(k.out_zero), p.lo = int8_t(k.lo),
  p.hi = int8_t(k.hi);
  if (!make_broadcast(s.a_rank, s.a, s.b_rank, s.b, &p.shape)) p.shape.count = 0;
  return p;
}

static uint32_t volume(int32_t rank, const uint32_t* extent) {
  uint32_t n = 1;
  for (int32_t d = 0; d < rank; d++) n *= extent[d];
  return n;
}

int main() {
  long number = 0;
  for (const Shapes& s : kCases)
    for (const Constants& k : kConstants) {
      number++;
      const MulParams p = params_of(s, k);
      if (p.shape.count == 0) {
        expect(s.a_rank == 5, "mul", number, "a shape does not collapse");
        continue;
      }
      g_in.size[0] = volume(s.a_rank, s.a), g_in.size[1] = volume(s.b_rank, s.b);
      for (int i = 0; i < 2; i++) fill(g_in.s8(i), int32_t(g_in.size[i]), number % 3 == 2 ? -20 : -128, 127);
      mul_reference(p, g_in.s8(0), g_in.s8(1), reinterpret_cast<int8_t*>(g_want));
      const Case c = {&p, sizeof p, 2, p.shape.count, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row_in_place({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/mul/kernels.def"
#undef KERNEL
    }
  return report();
}
