// Every resize row against the reference, on the host and on the core.
#include "ops/resize/constants.h"
#include "ops/resize/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/resize/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  uint16_t n, in_h, in_w, c, out_h, out_w;
  bool exact;
};
static constexpr Shape kCases[] = {{1, 1, 1, 1, 1, 1, false},   {1, 1, 1, 3, 7, 5, true},     {1, 4, 4, 4, 8, 8, false},
                                   {2, 3, 5, 7, 9, 10, false},  {1, 9, 7, 16, 4, 3, false},   {1, 9, 7, 16, 4, 3, true},
                                   {1, 5, 6, 2, 13, 11, false}, {1, 10, 10, 1, 20, 20, true}, {1, 1, 30, 12, 1, 60, false}};

int main() {
  for (const Shape& s : kCases) {
    const long number = &s - kCases;
    ResizeParams p = {s.n, s.in_h, s.in_w, s.c, s.out_h, s.out_w, {}, {}};
    p.rows = make_resize_axis(float(s.in_h) / float(s.out_h), s.exact);
    p.columns = make_resize_axis(float(s.in_w) / float(s.out_w), s.exact);
    const uint32_t in = uint32_t(s.n * s.in_h * s.in_w * s.c), out = uint32_t(s.n * s.out_h * s.out_w * s.c);
    g_in.size[0] = in;
    fill(g_in.s8(0), int32_t(in));
    resize_reference(p, g_in.s8(0), reinterpret_cast<int8_t*>(g_want));
    const Case c = {&p, sizeof p, 1, out, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/resize/kernels.def"
#undef KERNEL
  }
  return report();
}
