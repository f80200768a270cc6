// affine on MVE: four channels at a time, their constants kept in registers down the rows.
#include <arm_mve.h>

#include "ops/affine/reference.h"

namespace corten {
namespace {

// One strip of up to four channels, `rows` rows. The constants are the 12-byte records of four neighbours.
void strip(const int8_t* x, int8_t* y, uint32_t rows, uint32_t channels, const AffineChannel* t, mve_pred16_t some, int32x4_t lo,
           int32x4_t hi) {
  const uint32x4_t record = vmulq_n_u32(vidupq_n_u32(0, 1), sizeof(AffineChannel));
  const int32_t* words = &t->mult;
  const int32x4_t mult = vldrwq_gather_offset_z_s32(words, record, some);
  const int32x4_t offset = vldrwq_gather_offset_z_s32(words + 1, record, some);
  const int32x4_t shift = vnegq_s32(vandq_s32(vldrwq_gather_offset_z_s32(words + 2, record, some), vdupq_n_s32(31)));
  for (uint32_t r = 0; r < rows; r++, x += channels, y += channels) {
    const int32x4_t sum = vshlq_s32(vaddq_s32(vmulq_s32(vldrbq_z_s32(x, some), mult), offset), shift);
    vstrbq_p_s32(y, vminq_s32(vmaxq_s32(sum, lo), hi), some);
  }
}

}  // namespace

extern "C" void affine_s8_mve(const KernelArgs* k) {
  const AffineParams& p = *static_cast<const AffineParams*>(k->params);
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  const AffineChannel* t = at<AffineChannel>(k, p.tables);
  for (uint32_t c = 0; c < p.channels; c += 4)
    strip(x + c, y + c, p.rows, p.channels, t + c, vctp32q(p.channels - c), vdupq_n_s32(p.lo), vdupq_n_s32(p.hi));
}

extern "C" bool affine_s8_mve_check(const CheckArgs* c) { return affine_check(c); }

}  // namespace corten
