// A channel's bias and scale in 8 bytes, as the DSP rows read them, and the conditions under which that form is exact.
//
// With m, s as in fixed.h and an accumulator A:  floor((A*m + 2^(30+s)) / 2^(31+s)) = floor((floor(A*m / 2^32) + 2^(s-2)) /
// 2^(s-1)) for s >= 2, and the same with 256*A in place of A and s+8 in place of s. So one SMMLA, one shift and one SSAT
// requantise, zero point and rounding being the SMMLA's addend: (2*zero + 1) << (e-1) with e = s-1 (or s+7), then >> (e-1) and, in
// the SSAT, >> 1.
#pragma once
#include <stdint.h>

#include "runtime/simd.h"

namespace corten {

struct DspScale {
  int32_t word;  // bias << 8 | (e - 1); a shift by register looks at the low byte alone
  int32_t mult;
};

// The least and the greatest accumulator of a channel, over every int8 input.
struct Reach {
  int64_t lo, hi;
};
inline Reach reach_of(const int8_t* weights, int32_t n, int32_t bias) {
  Reach r = {bias, bias};
  for (int32_t k = 0; k < n; k++) {
    const int32_t w = weights[k];
    r.lo += w > 0 ? w * -128 : w * 127;
    r.hi += w > 0 ? w * 127 : w * -128;
  }
  return r;
}
// Does every input requantise to 0?
inline bool always_zero(const Reach& r, int32_t mult, int32_t shift) {
  if (r.lo < INT32_MIN || r.hi > INT32_MAX) return mult == 0;
  const int64_t half = int64_t(1) << (30 + shift);
  return r.lo * mult >= -half && r.hi * mult < half;
}
// Is the 8-byte form exact for this channel, as it stands and scaled by 256?
inline bool dsp_scale_exact(const Reach& r, int32_t mult, int32_t shift) {
  const int32_t limit = 1 << 23;
  return always_zero(r, mult, shift) || (shift >= 2 && shift <= 16 && r.lo > -limit && r.hi < limit);
}
inline DspScale dsp_scale(const Reach& r, int32_t bias, int32_t mult, int32_t shift, bool times256) {
  if (always_zero(r, mult, shift)) return {0, 0};
  const int32_t e = shift - 1 + (times256 ? 8 : 0);
  return {int32_t(uint32_t(bias) << 8 | uint32_t(e - 1)), mult};
}

inline int32_t dsp_bias(int32_t word) { return word >> 8; }
// `twice_zero` is 2*zero + 1.
inline int32_t dsp_addend(int32_t twice_zero, int32_t word) { return lsl_byte(twice_zero, uint32_t(word)); }
inline int8_t dsp_requantise(int32_t acc, int32_t mult, int32_t addend, int32_t word) {
  return int8_t(ssat8_asr1(asr_byte(smmla(acc, mult, addend), uint32_t(word))));
}

// For a fused clamp narrower than int8, to which dsp_requantise saturates.
inline void clamp_bytes(int8_t* y, int32_t n, int32_t lo, int32_t hi) {
  for (; n > 0; n--, y++) *y = int8_t(*y < lo ? lo : *y > hi ? hi : *y);
}

}  // namespace corten
