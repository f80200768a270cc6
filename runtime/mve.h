// What MVE kernels share. Only for files that are compiled for MVE alone (mve*.cc, *_mve.cc).
#pragma once
#include <arm_mve.h>
#include <stdint.h>

namespace corten {

inline void mve_copy(int8_t* to, const int8_t* from, int32_t n) {
  for (; n > 0; n -= 16, to += 16, from += 16) {
    const mve_pred16_t some = vctp8q(uint32_t(n));
    vst1q_p_s8(to, vld1q_z_s8(from, some), some);
  }
}

inline void mve_fill(int8_t* to, int32_t value, int32_t n) {
  const int8x16_t v = vdupq_n_s8(int8_t(value));
  for (; n > 0; n -= 16, to += 16) vst1q_p_s8(to, v, vctp8q(uint32_t(n)));
}

// The fused clamp where it is narrower than int8: kernels saturate to int8 first, which changes nothing, and then call this.
inline void mve_clamp(int8_t* x, int32_t n, int32_t lo, int32_t hi) {
  if (lo <= -128 && hi >= 127) return;
  const int8x16_t low = vdupq_n_s8(int8_t(lo)), high = vdupq_n_s8(int8_t(hi));
  for (; n > 0; n -= 16, x += 16) {
    const mve_pred16_t some = vctp8q(uint32_t(n));
    vst1q_p_s8(x, vminq_s8(vmaxq_s8(vld1q_z_s8(x, some), low), high), some);
  }
}

}  // namespace corten
