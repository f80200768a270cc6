// Requantisation for cores without the DSP extension, from the 8-byte form of dsp_scale.h: bias << 8 | (e - 1), and the multiplier.
#pragma once
#include <stdint.h>

#include "runtime/dsp_scale.h"
#include "runtime/fixed.h"
#include "runtime/tier.h"

namespace corten {

// floor(acc * mult / 2^32) for |acc| < 2^23 and mult >= 0. Outside of that: some value, but no undefined behaviour.
constexpr int32_t multiply_high_long(int32_t acc, int32_t mult) { return int32_t((int64_t(acc) * mult) >> 32); }
// The same from four products of 16 bits. The accumulator's low half is taken as signed, so that the middle sum stays below 2^31.
constexpr int32_t multiply_high_halves(int32_t acc, int32_t mult) {
  const int32_t low = int16_t(acc), high = int32_t(uint32_t(acc) - uint32_t(low)) >> 16;
  const uint32_t mult_low = uint32_t(mult) & 0xffff, mult_high = uint32_t(mult) >> 16;
  const int32_t carry = int32_t(uint32_t(low) * mult_low) >> 16;
  const int32_t middle = int32_t(uint32_t(low) * mult_high + uint32_t(high) * mult_low + uint32_t(carry));
  return int32_t(uint32_t(high) * mult_high + uint32_t(middle >> 16));
}
static_assert(multiply_high_halves(8388607, 0x7fffffff) == multiply_high_long(8388607, 0x7fffffff));
static_assert(multiply_high_halves(-8388607, 0x7fff8001) == multiply_high_long(-8388607, 0x7fff8001));
static_assert(multiply_high_halves(-32768, 0x4000ffff) == multiply_high_long(-32768, 0x4000ffff));
static_assert(multiply_high_halves(98304, 0x7fffffff) == multiply_high_long(98304, 0x7fffffff));
static_assert(multiply_high_halves(-1, 1) == -1);

// One channel's scale, taken apart once for all its outputs. `twice_zero` is 2 * out_zero + 1.
class ScalarScale {
 public:
  ScalarScale(const DspScale& s, int32_t twice_zero)
      : bias(s.word >> 8), mult_(s.mult), shift_(s.word & 31), addend_(int32_t(uint32_t(twice_zero) << shift_)) {}
  int8_t operator()(int32_t acc, int32_t lo, int32_t hi) const {
    const int32_t high = kLongMultiply ? multiply_high_long(acc, mult_) : multiply_high_halves(acc, mult_);
    return int8_t(clamp(int32_t(uint32_t(high) + uint32_t(addend_)) >> shift_ >> 1, lo, hi));
  }
  const int32_t bias;

 private:
  const int32_t mult_, shift_, addend_;
};

}  // namespace corten
