// Every softmax row against the reference, on the host and on the core.
#include "ops/softmax/constants.h"
#include "ops/softmax/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/softmax/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  uint32_t outer, n, inner;
  double in_scale, out_scale;
  int out_zero, lo, hi;
};
static constexpr Shape kCases[] = {
    {1, 1, 1, 0.1, 1.0 / 256, -128, -128, 127},
    {1, 2, 1, 0.05, 1.0 / 256, -128, -128, 127},
    {3, 12, 1, 0.2, 1.0 / 256, -128, -128, 127},
    {7, 10, 1, 0.0004, 1.0 / 256, -128, -128, 127},
    {1, 1000, 1, 0.08, 1.0 / 4096, -128, -128, 127},
    {2, 33, 1, 1.5, 0.004, -100, -100, 90},
    {4, 5, 6, 0.11, 1.0 / 256, -128, -128, 127},
    {1, 3, 1, 3e4, 1.0 / 256, -128, -128, 127},
    {2, 3, 1, 0.1, 50.0, 0, -128, 127},
    {2, 300, 3, 0.02, 1e-7, 0, -128, 127},
    {1, 16384, 1, 0.001, 1e-6, -128, -128, 127},
    {12, 12, 2, 0.3, 0.0039, -128, -128, 127},
};

int main() {
  for (const Shape& s : kCases)
    for (int log = 0; log < 2; log++) {
      const long number = &s - kCases;
      const double out_scale = log ? s.out_scale * 16 : s.out_scale;
      SoftmaxParams p = log ? make_log_softmax(s.outer, s.n, s.inner, s.in_scale, out_scale, 127, s.lo, s.hi)
                            : make_softmax(s.outer, s.n, s.inner, out_scale, s.out_zero, s.lo, s.hi);
      p.table = 32;
      uint32_t* table = reinterpret_cast<uint32_t*>(g_image + p.table);
      softmax_table(s.in_scale, table);
      const uint32_t count = s.outer * s.n * s.inner;
      g_in.size[0] = count;
      fill(g_in.s8(0), int32_t(count), number % 3 == 2 ? -20 : -128, 127);
      softmax_reference(p, table, g_in.s8(0), reinterpret_cast<int8_t*>(g_want));
      const Case c = {&p, sizeof p, 1, count, p.table + 4 * kSoftmaxTable};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row_in_place({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/softmax/kernels.def"
#undef KERNEL
    }
  return report();
}
