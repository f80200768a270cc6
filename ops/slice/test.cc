// Every slice row against the reference, on the host and on the core.
#include "ops/slice/constants.h"
#include "ops/slice/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/slice/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  int32_t rank;
  uint32_t shape[6];
  int64_t start[6], step[6];
  uint32_t extent[6];
};
static constexpr Shape kCases[] = {
    {1, {1}, {0}, {1}, {1}},
    {1, {50}, {7}, {3}, {11}},
    {2, {9, 40}, {2, 5}, {1, 1}, {4, 20}},
    {4, {1, 8, 8, 16}, {0, 1, 2, 0}, {1, 2, 3, 1}, {1, 4, 2, 16}},
    {4, {2, 5, 6, 24}, {1, 0, 0, 8}, {1, 1, 1, 1}, {1, 5, 6, 8}},  // a chunk of channels
    {3, {4, 5, 6}, {3, 4, 5}, {-1, -1, -1}, {4, 5, 6}},            // flipped
    {3, {4, 1, 6}, {0, 0, 0}, {1, 0, 1}, {4, 9, 6}},               // expanded
    {6, {3, 3, 3, 3, 3, 3}, {0, 1, 0, 1, 0, 1}, {2, 1, 2, 1, 2, 1}, {2, 2, 2, 2, 2, 2}},
    {2, {100, 33}, {0, 32}, {1, 1}, {100, 1}},  // a column
    {2, {100, 33}, {99, 0}, {1, 1}, {1, 33}},   // the last row
};

// By definition, so that make_slice is tested too.
static void slice(const Shape& s, const int8_t* x, uint8_t* y, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t rest = i;
    int64_t at = 0, stride = 1;
    for (int32_t d = s.rank - 1; d >= 0; d--) {
      at += (s.start[d] + s.step[d] * int64_t(rest % s.extent[d])) * stride;
      stride *= s.shape[d], rest /= s.extent[d];
    }
    y[i] = uint8_t(x[at]);
  }
}

int main() {
  for (const Shape& s : kCases) {
    const long number = &s - kCases;
    uint32_t in = 1, out = 1;
    for (int32_t d = 0; d < s.rank; d++) in *= s.shape[d], out *= s.extent[d];
    SliceParams p;
    if (!expect(make_slice(s.rank, s.shape, s.start, s.step, s.extent, &p), "slice", number, "its shape is refused")) continue;
    g_in.size[0] = in;
    fill(g_in.s8(0), int32_t(in));
    slice(s, g_in.s8(0), g_want, out);
    slice_reference(p, g_in.s8(0), g_out.s8());
    expect_equal("slice_reference", number, reinterpret_cast<const int8_t*>(g_want), g_out.s8(), int32_t(out));
    const Case c = {&p, sizeof p, 1, out, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/slice/kernels.def"
#undef KERNEL
  }
  return report();
}
