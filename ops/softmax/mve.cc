// softmax over the last dimension on MVE: four elements at a time, their exponentials gathered.
#include <arm_mve.h>

#include "ops/softmax/reference.h"

namespace corten {
namespace {

int32_t row_max(const int8_t* x, uint32_t n) {
  int8_t most = -128;
  for (uint32_t i = 0; i < n; i += 16) {
    const mve_pred16_t some = vctp8q(n - i);
    most = vmaxvq_p_s8(most, vld1q_z_s8(x + i, some), some);
  }
  return most;
}

// exp of four elements below the maximum; lanes that are left out give 0.
uint32x4_t exponentials(const uint32_t* table, int32_t most, const int8_t* x, mve_pred16_t some) {
  const uint32x4_t below = vreinterpretq_u32_s32(vsubq_s32(vdupq_n_s32(most), vldrbq_z_s32(x, some)));
  const uint32x4_t high = vldrwq_gather_shifted_offset_z_u32(table, vshrq_n_u32(below, 4), some);
  const uint32x4_t low = vldrwq_gather_shifted_offset_z_u32(table + 16, vandq_u32(below, vdupq_n_u32(15)), some);
  return vshlq_n_u32(vrmulhq_u32(high, low), 1);
}

void row(const SoftmaxParams& p, const uint32_t* table, const int8_t* x, int8_t* y) {
  const int32_t most = row_max(x, p.n);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < p.n; i += 4) sum = vaddlvaq_u32(sum, exponentials(table, most, x + i, vctp32q(p.n - i)));
  const SoftmaxFactor f = softmax_factor(p, sum);
  // From 64 on, where nothing is left, the rounding shift gives 0 as well.
  const uint32x4_t factor = vdupq_n_u32(f.factor);
  for (uint32_t i = 0; i < p.n; i += 4) {
    const mve_pred16_t some = vctp32q(p.n - i);
    uint32x4_t v = vrshlq_n_u32(vmulhq_u32(exponentials(table, most, x + i, some), factor), 32 - f.shift);
    v = vminq_u32(v, vdupq_n_u32(511));
    int32x4_t q = vaddq_n_s32(vreinterpretq_s32_u32(v), p.out_zero);
    q = vminq_s32(vmaxq_s32(q, vdupq_n_s32(p.lo)), vdupq_n_s32(p.hi));
    vstrbq_p_s32(y + i, q, some);
  }
}

}  // namespace

extern "C" void softmax_s8_mve(const KernelArgs* k) {
  const SoftmaxParams& p = *static_cast<const SoftmaxParams*>(k->params);
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  for (uint32_t o = 0; o < p.outer; o++, x += p.n, y += p.n) row(p, at<uint32_t>(k, p.table), x, y);
}

extern "C" bool softmax_s8_mve_check(const CheckArgs* c) {
  return softmax_check(c) && softmax_fits_mve(*static_cast<const SoftmaxParams*>(c->params));
}

}  // namespace corten
