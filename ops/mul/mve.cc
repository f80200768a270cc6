// mul on MVE: four lanes of 32 bits.
#include "ops/mul/reference.h"

namespace corten {
namespace {

// What a row needs; the assembly loads lo and hi itself, having no registers to spare.
struct Range {
  int32_t a_zero, b_zero, mult, negative_shift, out_zero, lo, hi;
};
static_assert(offsetof(Range, lo) == 20 && offsetof(Range, hi) == 24);

// The sum of the rounded product and the zero point stays far below 2^31: the shift is at least 1 and the product below 2^17.
__attribute__((noinline)) void row(const int8_t* a, const int8_t* b, int8_t* y, uint32_t n, const Range& r) {
  asm volatile(
      "ldr lr, [%[r], #20]\n vdup.32 q2, lr\n ldr lr, [%[r], #24]\n vdup.32 q3, lr\n"
      "wlstp.32 lr, %[n], 2f\n"
      "1:\n"
      "vldrb.s32 q0, [%[a]], #4\n"
      "vsub.i32 q0, q0, %[a_zero]\n"
      "vldrb.s32 q1, [%[b]], #4\n"
      "vsub.i32 q1, q1, %[b_zero]\n"
      "vmul.i32 q0, q0, q1\n"
      "vqdmulh.s32 q0, q0, %[mult]\n"
      "vrshl.s32 q0, %[shift]\n"
      "vadd.i32 q0, q0, %[out_zero]\n"
      "vmax.s32 q0, q0, q2\n"
      "vmin.s32 q0, q0, q3\n"
      "vstrb.32 q0, [%[y]], #4\n"
      "letp lr, 1b\n"
      "2:\n"
      : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y)
      : [n] "r"(n), [a_zero] "r"(r.a_zero), [b_zero] "r"(r.b_zero), [mult] "r"(r.mult), [shift] "r"(r.negative_shift),
        [out_zero] "r"(r.out_zero), [r] "r"(&r)
      : "q0", "q1", "q2", "q3", "lr", "cc", "memory");
}

// The same with one factor for the whole row.
__attribute__((noinline)) void row_by_one(const int8_t* x, int8_t* y, uint32_t n, int32_t zero, int32_t factor, const Range& r) {
  asm volatile(
      "ldr lr, [%[r], #20]\n vdup.32 q2, lr\n ldr lr, [%[r], #24]\n vdup.32 q3, lr\n"
      "wlstp.32 lr, %[n], 2f\n"
      "1:\n"
      "vldrb.s32 q0, [%[x]], #4\n"
      "vsub.i32 q0, q0, %[zero]\n"
      "vmul.i32 q0, q0, %[factor]\n"
      "vqdmulh.s32 q0, q0, %[mult]\n"
      "vrshl.s32 q0, %[shift]\n"
      "vadd.i32 q0, q0, %[out_zero]\n"
      "vmax.s32 q0, q0, q2\n"
      "vmin.s32 q0, q0, q3\n"
      "vstrb.32 q0, [%[y]], #4\n"
      "letp lr, 1b\n"
      "2:\n"
      : [x] "+l"(x), [y] "+l"(y)
      : [n] "r"(n), [zero] "r"(zero), [factor] "r"(factor), [mult] "r"(r.mult), [shift] "r"(r.negative_shift),
        [out_zero] "r"(r.out_zero), [r] "r"(&r)
      : "q0", "q2", "q3", "lr", "cc", "memory");
}

}  // namespace

extern "C" void mul_s8_mve(const KernelArgs* k) {
  const MulParams& p = *static_cast<const MulParams*>(k->params);
  const bool a_repeats = p.shape.a_stride[3] == 0, b_repeats = p.shape.b_stride[3] == 0;
  const Range r = {p.a_zero, p.b_zero, p.scale.mult, -p.scale.shift, p.out_zero, p.lo, p.hi};
  for_each_row(p.shape, static_cast<const int8_t*>(k->operand[0]), static_cast<const int8_t*>(k->operand[1]),
               static_cast<int8_t*>(k->operand[2]), [=, &r](const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
                 if (b_repeats) {
                   row_by_one(a, y, n, r.a_zero, *b - r.b_zero, r);
                 } else if (a_repeats) {
                   row_by_one(b, y, n, r.b_zero, *a - r.a_zero, r);
                 } else {
                   row(a, b, y, n, r);
                 }
               });
}

extern "C" bool mul_s8_mve_check(const CheckArgs* c) {
  return mul_check(c) && mul_fits_mve(*static_cast<const MulParams*>(c->params));
}

}  // namespace corten
