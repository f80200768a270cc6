// mean on MVE: eight channels at a time, or sixteen elements of one run.
#include <arm_mve.h>

#include "ops/mean/reference.h"

namespace corten {
namespace {

// Sums of eight channels over n rows, `step` bytes apart; 255 rows at a time in 16 bits.
struct Sums {
  int32x4_t even, odd;
};
Sums column_sums(const int8_t* x, uint32_t n, int32_t step, mve_pred16_t some) {
  Sums s = {vdupq_n_s32(0), vdupq_n_s32(0)};
  while (n > 0) {
    const uint32_t block = n < 255 ? n : 255;
    int16x8_t part = vdupq_n_s16(0);
    for (uint32_t i = 0; i < block; i++, x += step) part = vaddq_s16(part, vldrbq_z_s16(x, some));
    s.even = vaddq_s32(s.even, vmovlbq_s16(part)), s.odd = vaddq_s32(s.odd, vmovltq_s16(part));
    n -= block;
  }
  return s;
}

int32_t run_sum(const int8_t* x, uint32_t n) {
  int32_t sum = 0;
  for (; n >= 16; n -= 16, x += 16) sum = vaddvaq_s8(sum, vld1q_s8(x));
  return n > 0 ? vaddvaq_s8(sum, vld1q_z_s8(x, vctp8q(n))) : sum;  // the lanes left out are 0
}

// requantise() for any shift, as fixed.h derives it.
int32x4_t requantise4(int32x4_t acc, Scale s) {
  const int32_t left = s.shift < 1 ? 1 - s.shift : 0, right = s.shift < 1 ? -1 : -s.shift;
  return vrshlq_n_s32(vqdmulhq_n_s32(vqshlq_r_s32(acc, left), s.mult), right);
}

}  // namespace

extern "C" void mean_s8_mve_columns(const KernelArgs* k) {
  const MeanParams& p = *static_cast<const MeanParams*>(k->params);
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  const int32_t zeros = int32_t(p.reduced[3]) * p.in_zero, channels = int32_t(p.kept[3]);
  for (uint32_t n = 0; n < p.kept[2]; n++, x += p.kept_stride[2], y += channels)
    for (int32_t c = 0; c < channels; c += 8) {
      const mve_pred16_t some = vctp16q(uint32_t(channels - c));
      const Sums s = column_sums(x + c, p.reduced[3], p.reduced_stride[3], some);
      const int32x4_t even = vqaddq_n_s32(requantise4(vsubq_n_s32(s.even, zeros), p.scale), p.out_zero);
      const int32x4_t odd = vqaddq_n_s32(requantise4(vsubq_n_s32(s.odd, zeros), p.scale), p.out_zero);
      const int16x8_t narrow = vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);
      vstrbq_p_s16(y + c, vminq_s16(vmaxq_s16(narrow, vdupq_n_s16(p.lo)), vdupq_n_s16(p.hi)), some);
    }
}

extern "C" bool mean_s8_mve_columns_check(const CheckArgs* c) {
  return mean_check(c) && mean_is_columns(*static_cast<const MeanParams*>(c->params));
}

extern "C" void mean_s8_mve_rows(const KernelArgs* k) {
  const MeanParams& p = *static_cast<const MeanParams*>(k->params);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  const int32_t zeros = int32_t(p.reduced[3]) * p.in_zero;
  for_each_kept(p, static_cast<const int8_t*>(k->operand[0]), [&](const int8_t* x) {
    *y++ = to_int8(requantise(run_sum(x, p.reduced[3]) - zeros, p.scale.mult, p.scale.shift), p.out_zero, p.lo, p.hi);
  });
}

extern "C" bool mean_s8_mve_rows_check(const CheckArgs* c) {
  return mean_check(c) && mean_is_rows(*static_cast<const MeanParams*>(c->params));
}

}  // namespace corten
