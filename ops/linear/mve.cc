// linear on MVE: four outputs at a time.
#include "runtime/mve.h"
#include "ops/linear/pack_mve.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {
namespace {

// One vector of inputs, in q0, times the weights of four outputs. Assembly, because with intrinsics GCC neither keeps loads and
// multiplies in turn nor the four sums in registers.
#define STEP                    \
  "vldrb.8 q1, [%[w]], #16\n"   \
  "vmladava.s8 %[a0], q0, q1\n" \
  "vldrb.8 q2, [%[w]], #16\n"   \
  "vmladava.s8 %[a1], q0, q2\n" \
  "vldrb.8 q1, [%[w]], #16\n"   \
  "vmladava.s8 %[a2], q0, q1\n" \
  "vldrb.8 q2, [%[w]], #16\n"   \
  "vmladava.s8 %[a3], q0, q2\n"

// `in` inputs in x, of which no byte beyond is read; `n` outputs, `zero` their zero point.
__attribute__((noinline)) void one_row(const int8_t* x, uint32_t in, const int8_t* w, const int32_t* t, int8_t* out, int32_t n,
                                       int32_t zero) {
  const uint32_t full = (in - 1) >> 4, tail = in - 16 * full;
  int32_t a0, a1, a2, a3;
  asm volatile(
      "vdup.32 q4, %[a0]\n"
      "3:\n"
      "ldrd %[a0], %[a1], [%[t]]\n"
      "ldrd %[a2], %[a3], [%[t], #8]\n"
      "wls lr, %[full], 2f\n"
      "1:\n"
      "vldrb.8 q0, [%[x]], #16\n" STEP
      "le lr, 1b\n"
      "2:\n"
      "vctp.8 %[tail]\n"
      "vpst\n"
      "vldrbt.8 q0, [%[x]]\n" STEP
      "sub %[x], %[x], %[full], lsl #4\n"
      "vldrw.32 q3, [%[t], #16]\n"
      "vmov q0[2], q0[0], %[a0], %[a2]\n"
      "vldrb.s32 q1, [%[t], #32]\n"
      "vmov q0[3], q0[1], %[a1], %[a3]\n"
      "vqdmulh.s32 q0, q0, q3\n"
      "adds %[t], #36\n"
      "vrshl.s32 q0, q0, q1\n"
      "vctp.32 %[n]\n"
      "vadd.i32 q0, q0, q4\n"
      "vqmovnb.s32 q0, q0\n"
      "vqmovnb.s16 q0, q0\n"
      "vpst\n"
      "vstrbt.32 q0, [%[out]], #4\n"
      "subs %[n], #4\n"
      "bgt 3b\n"
      : [a0] "=&Te"(a0), [a1] "=&Te"(a1), [a2] "=&Te"(a2), [a3] "=&Te"(a3), [w] "+r"(w), [t] "+l"(t), [out] "+l"(out), [x] "+r"(x),
        [n] "+r"(n)
      : [full] "r"(full), [tail] "r"(tail), "0"(zero)
      : "q0", "q1", "q2", "q3", "q4", "lr", "cc", "memory");
}

// The same for scales of a half and more too.
void any_row(const int8_t* x, uint32_t in, const int8_t* weights, const int32_t* tables, int8_t* out, int32_t n, int32_t zero) {
  for (uint32_t o = 0; o < uint32_t(n); o++) {
    const int32_t* quad = tables + o / 4 * 9;
    const int32_t bias = quad[o % 4], mult = quad[4 + o % 4], shift = -reinterpret_cast<const int8_t*>(quad + 8)[o % 4];
    const int8_t* w = weights + linear_quads_at((in + 15) / 16, o, 0);
    int32_t acc = bias;
    for (uint32_t i = 0; i < in; i += 16, w += 64) acc = vmladavaq_s8(acc, vld1q_z_s8(x + i, vctp8q(in - i)), vld1q_s8(w));
    out[o] = to_int8(requantise(acc, mult, clamp(shift, -30, 31)), zero, -128, 127);
  }
}

using RowFn = void (*)(const int8_t* x, uint32_t in, const int8_t* w, const int32_t* t, int8_t* out, int32_t n, int32_t zero);

void all_rows(const KernelArgs* a, RowFn row) {
  const LinearParams& p = *static_cast<const LinearParams*>(a->params);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* const y = static_cast<int8_t*>(a->operand[1]);
  for (uint32_t r = 0; r < p.rows; r++, x += p.in)
    row(x, p.in, at<int8_t>(a, p.weights), at<int32_t>(a, p.tables), y + r * p.out, int32_t(p.out), p.out_zero);
  mve_clamp(y, int32_t(p.rows * p.out), p.lo, p.hi);
}

}  // namespace

extern "C" void linear_s8_mve(const KernelArgs* a) { all_rows(a, one_row); }
extern "C" bool linear_s8_mve_check(const CheckArgs* a) { return linear_check(a, linear_quads_weights, linear_quads_tables, 0); }

extern "C" void linear_s8_mve_any(const KernelArgs* a) { all_rows(a, any_row); }
extern "C" bool linear_s8_mve_any_check(const CheckArgs* a) { return linear_s8_mve_check(a); }

}  // namespace corten
