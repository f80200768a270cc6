// Every pad row against the reference, on the host and on the core.
#include "ops/pad/constants.h"
#include "ops/pad/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/pad/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  int32_t rank;
  uint32_t shape[6];
  int32_t before[6], after[6];
  int value;
};
static constexpr Shape kCases[] = {
    {1, {1}, {0}, {0}, 5},
    {1, {7}, {3}, {4}, -128},
    {4, {1, 6, 5, 3}, {0, 1, 1, 0}, {0, 2, 1, 0}, 3},  // NHWC
    {4, {2, 8, 8, 16}, {0, 2, 3, 0}, {0, 0, 1, 0}, -7},
    {4, {1, 6, 5, 3}, {0, 0, 0, 2}, {0, 0, 0, 1}, 3},     // channels
    {4, {2, 6, 5, 3}, {1, -1, 1, -1}, {0, 2, -2, 2}, 3},  // crops
    {3, {4, 9, 5}, {0, -4, 0}, {0, -4, 0}, 3},
    {2, {3, 50}, {-1, -20}, {-1, -20}, 9},
    {6, {2, 3, 2, 3, 2, 3}, {1, 1, 1, 1, 1, 1}, {1, 0, 1, 0, 1, 0}, 127},
    {3, {2, 2, 40}, {1, 1, 39}, {1, 1, 39}, 0},
    {2, {3, 8}, {0, -8}, {0, 3}, 6},  // constant only: nothing of x is left
    {2, {3, 8}, {0, 12}, {0, -9}, 6},
};

int main() {
  for (const Shape& s : kCases)
    for (int mode = kPadConstant; mode <= kPadCircular; mode++) {
      const long number = &s - kCases;
      uint32_t in = 1, out = 1;
      bool mirrors = true;
      for (int32_t d = 0; d < s.rank; d++) {
        const int32_t n = int32_t(s.shape[d]);
        in *= s.shape[d], out *= uint32_t(n + s.before[d] + s.after[d]);
        mirrors = mirrors && s.before[d] < n && s.after[d] < n && -s.before[d] < n;
      }
      if (mode != kPadConstant && !mirrors) continue;
      PadParams p;
      const bool made = make_pad(s.rank, s.shape, s.before, s.after, uint8_t(mode), int8_t(s.value), &p);
      if (!expect(made, "pad", number, "its shape is refused")) continue;
      g_in.size[0] = in;
      fill(g_in.s8(0), int32_t(in));
      pad_reference(p, g_in.s8(0), reinterpret_cast<int8_t*>(g_want));
      const Case c = {&p, sizeof p, 1, out, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/pad/kernels.def"
#undef KERNEL
    }
  return report();
}
