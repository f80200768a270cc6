// Every concat row against the reference, on the host and on the core.
#include "ops/concat/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/concat/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  uint32_t outer, inputs, inner[4];
};
static constexpr Shape kCases[] = {{1, 1, {1}},        {1, 2, {5, 7}},  {6, 3, {3, 16, 1}}, {25, 4, {64, 1, 33, 2}},
                                   {2, 2, {1000, 24}}, {100, 2, {1, 1}}};

int main() {
  for (const Shape& s : kCases) {
    const long number = &s - kCases;
    ConcatParams p = {s.outer, s.inputs, {}};
    const int8_t* in[kInputs];
    uint32_t out = 0;
    for (uint32_t k = 0; k < s.inputs; k++) {
      p.inner[k] = s.inner[k];
      g_in.size[k] = s.outer * s.inner[k], out += g_in.size[k];
      in[k] = g_in.s8(int32_t(k));
      fill(g_in.s8(int32_t(k)), int32_t(g_in.size[k]));
    }
    concat_reference(p, in, reinterpret_cast<int8_t*>(g_want));
    const Case c = {&p, sizeof p, s.inputs, out, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/concat/kernels.def"
#undef KERNEL
  }
  return report();
}
