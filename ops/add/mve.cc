// add on MVE: four lanes of 32 bits; wide enough for the sum, and the narrowing store is free.
#include "ops/add/reference.h"

namespace corten {
namespace {

struct Range {
  int32_t negative_shift, lo, hi;
};

// y = clamp((a * a_mult + b * b_mult + offset) >> shift). In assembly for the tail-predicated loop, which GCC does not make.
void two_operands(const int8_t* a, const int8_t* b, int8_t* y, uint32_t n, const AddParams& p, const Range& r) {
  asm volatile(
      "vdup.32 q2, %[a_mult]\n vdup.32 q3, %[lo]\n vdup.32 q4, %[hi]\n"
      "wlstp.32 lr, %[n], 2f\n"
      "1:\n"
      "vldrb.s32 q0, [%[a]], #4\n"
      "vmlas.s32 q0, q2, %[offset]\n"
      "vldrb.s32 q1, [%[b]], #4\n"
      "vmla.s32 q0, q1, %[b_mult]\n"
      "vshl.s32 q0, %[shift]\n"
      "vmax.s32 q0, q0, q3\n"
      "vmin.s32 q0, q0, q4\n"
      "vstrb.32 q0, [%[y]], #4\n"
      "letp lr, 1b\n"
      "2:\n"
      : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y)
      : [n] "r"(n), [a_mult] "r"(p.a_mult), [b_mult] "r"(p.b_mult), [offset] "r"(p.offset), [shift] "r"(r.negative_shift),
        [lo] "r"(r.lo), [hi] "r"(r.hi)
      : "q0", "q1", "q2", "q3", "q4", "lr", "cc", "memory");
}

// The same with one operand for the whole row, which is in the offset.
void one_operand(const int8_t* x, int8_t* y, uint32_t n, int32_t mult, uint32_t offset, const Range& r) {
  asm volatile(
      "vdup.32 q1, %[mult]\n vdup.32 q2, %[lo]\n vdup.32 q3, %[hi]\n"
      "wlstp.32 lr, %[n], 2f\n"
      "1:\n"
      "vldrb.s32 q0, [%[x]], #4\n"
      "vmlas.s32 q0, q1, %[offset]\n"
      "vshl.s32 q0, %[shift]\n"
      "vmax.s32 q0, q0, q2\n"
      "vmin.s32 q0, q0, q3\n"
      "vstrb.32 q0, [%[y]], #4\n"
      "letp lr, 1b\n"
      "2:\n"
      : [x] "+l"(x), [y] "+l"(y)
      : [n] "r"(n), [mult] "r"(mult), [offset] "r"(offset), [shift] "r"(r.negative_shift), [lo] "r"(r.lo), [hi] "r"(r.hi)
      : "q0", "q1", "q2", "q3", "lr", "cc", "memory");
}

}  // namespace

extern "C" void add_s8_mve(const KernelArgs* k) {
  const AddParams& p = *static_cast<const AddParams*>(k->params);
  const bool a_repeats = p.shape.a_stride[3] == 0, b_repeats = p.shape.b_stride[3] == 0;
  const Range r = {-int32_t(p.shift), p.lo, p.hi};
  for_each_row(p.shape, static_cast<const int8_t*>(k->operand[0]), static_cast<const int8_t*>(k->operand[1]),
               static_cast<int8_t*>(k->operand[2]), [=, &p](const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
                 if (b_repeats) {
                   const uint32_t offset = uint32_t(p.offset) + uint32_t(*b) * uint32_t(p.b_mult);
                   one_operand(a, y, n, p.a_mult, offset, r);
                 } else if (a_repeats) {
                   one_operand(b, y, n, p.b_mult, uint32_t(p.offset) + uint32_t(*a) * uint32_t(p.a_mult), r);
                 } else {
                   two_operands(a, b, y, n, p, r);
                 }
               });
}

extern "C" bool add_s8_mve_check(const CheckArgs* c) {
  return add_check(c) && has_unit_steps(static_cast<const AddParams*>(c->params)->shape);
}

}  // namespace corten
