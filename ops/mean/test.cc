// Every mean row against the reference, on the host and on the core.
#include "ops/mean/constants.h"
#include "ops/mean/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/mean/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  int32_t rank;
  uint32_t shape[8];
  uint32_t reduce;  // bit d: dim d is reduced
  int in_zero, out_zero, lo, hi;
};
static constexpr Shape kCases[] = {
    {1, {1}, 1, 3, -4, -128, 127},
    {4, {1, 8, 8, 19}, 6, -128, -128, -128, 127},  // global mean, NHWC
    {4, {2, 5, 7, 64}, 6, 127, 0, -128, 127},
    {4, {1, 16, 20, 8}, 14, 5, 9, -128, 127},  // everything
    {2, {9, 33}, 2, 0, 0, -128, 127},          // the last dim
    {3, {3, 4, 100}, 4, -128, 127, -100, 100},
    {4, {1, 16, 20, 8}, 6, -7, 1, -128, 127},
    {4, {3, 4, 5, 6}, 5, 1, 2, -128, 127},  // alternating
    {4, {3, 4, 5, 6}, 10, 1, 2, -128, 127},
    {8, {2, 3, 2, 3, 2, 3, 2, 3}, 0x55, 1, 2, -128, 127},
    {8, {2, 3, 2, 3, 2, 3, 2, 3}, 0xAA, 1, 2, -3, -3},
    {2, {16384, 1}, 1, -128, -128, -128, 127},
    {2, {1, 16384}, 2, 127, -128, -128, 127},
    {3, {5, 6, 16}, 0, 3, 3, -128, 127},  // nothing: a requantisation
    {2, {40, 3}, 1, 3, 3, -128, 127},
    {2, {40, 17}, 1, 3, 3, -128, 127},
    {3, {4, 40, 48}, 2, 3, 3, -128, 127},
};

int main() {
  for (const Shape& s : kCases) {
    const long number = &s - kCases;
    bool reduce[8];
    uint32_t in = 1, out = 1;
    for (int32_t d = 0; d < s.rank; d++) {
      reduce[d] = (s.reduce >> d & 1) != 0;
      in *= s.shape[d], out *= reduce[d] ? 1 : s.shape[d];
    }
    MeanParams p;
    const bool made = make_mean(s.rank, s.shape, reduce, 0.05, s.in_zero, number % 2 ? 0.05 : 0.013, s.out_zero, s.lo, s.hi, 0, &p);
    if (!expect(made, "mean", number, "its shape is refused")) continue;
    g_in.size[0] = in;
    fill(g_in.s8(0), int32_t(in), number % 3 == 2 ? -20 : -128, 127);
    mean_reference(p, g_in.s8(0), reinterpret_cast<int8_t*>(g_want));
    const Case c = {&p, sizeof p, 1, out, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/mean/kernels.def"
#undef KERNEL
  }
  return report();
}
