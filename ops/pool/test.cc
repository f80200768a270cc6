// Every pool row against the reference, on the host and on the core.
#include "ops/pool/constants.h"
#include "ops/pool/overlap.h"
#include "ops/pool/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/pool/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  int n, in_h, in_w, c, out_h, out_w, k_h, k_w, stride_h, stride_w, pad_t, pad_l, pad_b, pad_r, dil_h, dil_w;
  bool adaptive, include_pad;
  int divisor, in_zero, out_zero, lo, hi;
};
static constexpr Shape kCases[] = {
#if defined(CORTEN_BENCH)
#include "ops/pool/bench.inc"
#else
#include "ops/pool/cases.inc"
#endif
};

static PoolParams params_of(const Shape& s) {
  PoolParams p = {};
  p.n = uint16_t(s.n), p.in_h = uint16_t(s.in_h), p.in_w = uint16_t(s.in_w), p.c = uint16_t(s.c);
  p.out_h = uint16_t(s.out_h), p.out_w = uint16_t(s.out_w);
  p.k_h = uint16_t(s.adaptive ? pool_adaptive_k(s.in_h, s.out_h) : s.k_h),
  p.k_w = uint16_t(s.adaptive ? pool_adaptive_k(s.in_w, s.out_w) : s.k_w);
  p.stride_h = uint16_t(s.stride_h), p.stride_w = uint16_t(s.stride_w), p.dil_h = uint16_t(s.dil_h), p.dil_w = uint16_t(s.dil_w);
  p.pad_t = uint16_t(s.pad_t), p.pad_l = uint16_t(s.pad_l), p.pad_b = uint16_t(s.pad_b), p.pad_r = uint16_t(s.pad_r);
  p.adaptive = s.adaptive, p.scales = 16;
  p.in_zero = int8_t(s.in_zero), p.out_zero = int8_t(s.out_zero), p.lo = int8_t(s.lo), p.hi = int8_t(s.hi);
  return p;
}

int main() {
  for (const Shape& s : kCases)
    for (int kind = kPoolMax; kind <= kPoolAverage; kind++) {
      const long number = &s - kCases;
      if (kind == kPoolAverage && (s.dil_h > 1 || s.dil_w > 1)) continue;
      PoolParams p = params_of(s);
      p.kind = uint8_t(kind), p.scale = {0, 31};
      Scale* scales = reinterpret_cast<Scale*>(g_image + p.scales);
      if (kind == kPoolAverage) make_pool_average(p, 0.047, number % 2 ? 0.047 : 0.031, s.include_pad, s.divisor, scales);
      const uint32_t in = uint32_t(s.n * s.in_h * s.in_w * s.c), out = uint32_t(s.n * s.out_h * s.out_w * s.c);
      if (!expect(in <= kOperandBytes && out <= kOperandBytes, "pool", number, "case too large")) continue;
      g_in.size[0] = in;
      fill(g_in.s8(0), int32_t(in), number % 3 == 2 ? -20 : -128, 127);
      pool_reference(p, scales, g_in.s8(0), reinterpret_cast<int8_t*>(g_want));
      const uint32_t entries = pool_table_entries(p);
      const Case c = {&p, sizeof p, 1, out, entries ? p.scales + entries * uint32_t(sizeof(Scale)) : 0};
#define KERNEL(tier, fn, usable, scratch, packing)                                     \
  if (Tier::tier <= kTier && (usable)) {                                               \
    test_row({#fn, fn, fn##_check, scratch, number + 1000 * kind}, c);                 \
    test_over({#fn, fn, fn##_check, scratch, number}, c, 0, int32_t(pool_overlap(p))); \
  }
#include "ops/pool/kernels.def"
#undef KERNEL
    }
  return report();
}
