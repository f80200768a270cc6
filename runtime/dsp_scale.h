// A channel's bias and scale in 8 bytes, as the DSP rows read them, and the conditions under which that form is exact.
//
// With m, s as in fixed.h and an accumulator A:  floor((A*m + 2^(30+s)) / 2^(31+s)) = floor((floor(A*m / 2^32) + 2^(s-2)) /
// 2^(s-1)) for s >= 2, and the same with 256*A in place of A and s+8 in place of s. So one SMMLA, one shift and one SSAT
// requantise, zero point and rounding being the SMMLA's addend: (2*zero + 1) << (e-1) with e = s-1 (or s+7), then >> (e-1) and, in
// the SSAT, >> 1.
#pragma once
#include <stdint.h>

#include "runtime/fixed.h"
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
// A channel's bias and scale as fixed.h has them.
struct ChannelScale {
  int32_t bias, mult, shift;
};

// A channel whose output is `value` whatever its input: a scale and a bias that give it within the form's limits.
inline bool fit_constant(const Reach& r, int32_t value, ChannelScale* c) {
  if (value == 0) return *c = {0, 0, 2}, true;
  const int64_t limit = 1 << 23, spread = r.hi - r.lo;
  int64_t step = 8;  // accumulators to one step of the output: 2^(31 + shift) / mult
  for (c->mult = 1 << 30, c->shift = 2; step < limit && spread >= step / 8 * 7; step *= 2) {
    if (c->shift < 16)
      c->shift++;
    else
      c->mult >>= 1;
  }
  const int64_t moved = value * step - (r.lo + r.hi) / 2, lo = r.lo + moved, hi = r.hi + moved;
  if (lo <= -limit || hi >= limit) return false;
  c->bias = int32_t(c->bias + moved);
  return requantise(int32_t(lo), c->mult, c->shift) == value && requantise(int32_t(hi), c->mult, c->shift) == value;
}
// The least accumulator in (lo, hi] that gives at least `value`, which hi gives and lo does not.
inline int32_t least_accumulator(int32_t value, int32_t lo, int32_t hi, const ChannelScale& c) {
  while (hi - lo > 1) {
    const int32_t middle = lo + (hi - lo) / 2;
    (requantise(middle, c.mult, c.shift) >= value ? hi : lo) = middle;
  }
  return hi;
}
// A shift of more than 16: the same steps at the same accumulators, if one of two neighbouring multipliers has them.
inline bool fit_shift(const Reach& r, ChannelScale* c) {
  const ChannelScale from = *c;
  const int32_t lo = int32_t(r.lo), hi = int32_t(r.hi);
  const int32_t first = requantise(lo, from.mult, from.shift), last = requantise(hi, from.mult, from.shift);
  for (int32_t up = 0; up < 2; up++) {
    *c = {from.bias, (from.mult >> (from.shift - 16)) + up, 16};
    bool same = requantise(lo, c->mult, 16) == first && requantise(hi, c->mult, 16) == last;
    for (int32_t k = first + 1; same && k <= last; k++) {
      const int32_t at = least_accumulator(k, lo, hi, from);
      same = requantise(at, c->mult, 16) == k && requantise(at - 1, c->mult, 16) == k - 1;
    }
    if (same) return true;
  }
  return false;
}
// Brings a channel into the form: shift in [2, 16] and |accumulator| < 2^23, so that it is exact as it stands and times 256.
inline bool dsp_fit(const Reach& r, ChannelScale* c) {
  if (r.lo < INT32_MIN || r.hi > INT32_MAX) return c->mult == 0 && fit_constant(r, 0, c);
  const int32_t limit = 1 << 23;
  const int32_t lo = clamp(requantise(int32_t(r.lo), c->mult, c->shift), -256, 255);  // beyond, int8 saturates for every zero point
  const int32_t hi = clamp(requantise(int32_t(r.hi), c->mult, c->shift), -256, 255);
  if (lo == hi) return fit_constant(r, lo, c);
  if (c->shift < 2 || r.lo <= -limit || r.hi >= limit) return false;
  return c->shift <= 16 || fit_shift(r, c);
}
inline bool dsp_scale_exact(const Reach& r, int32_t bias, int32_t mult, int32_t shift) {
  ChannelScale c = {bias, mult, shift};
  return dsp_fit(r, &c);
}
inline DspScale dsp_scale(const Reach& r, int32_t bias, int32_t mult, int32_t shift, bool times256) {
  ChannelScale c = {bias, mult, shift};
  if (!dsp_fit(r, &c)) return {0, 0};  // the row is not for this channel
  const int32_t e = c.shift - 1 + (times256 ? 8 : 0);
  return {int32_t(uint32_t(c.bias) << 8 | uint32_t(e - 1)), c.mult};
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
