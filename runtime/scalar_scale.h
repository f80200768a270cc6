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

// What the outputs of a layer have in common: 2 * zero point + 1, and the clamp.
struct ScalarRange {
  int32_t twice_zero, lo, hi;
};

// floor((acc + bias) * mult / 2^32), rounded half up by e bits (which is requantise(): see dsp_scale.h), zero point added.
#if defined(CORTEN_THUMB1)
// In assembly because the compiler has too few registers for the C++ below: 45 instructions instead of 21.
inline int32_t scalar_requantise(int32_t acc, const DspScale& scale, int32_t twice_zero) {
  int32_t mult = scale.mult, high, low, sum;
  asm(".syntax unified\n"
      "asrs %[low], %[word], #8\n adds %[acc], %[acc], %[low]\n"
      "sxth %[low], %[acc]\n subs %[acc], %[acc], %[low]\n asrs %[acc], %[acc], #16\n"  // the accumulator's halves: acc, low
      "lsrs %[high], %[mult], #16\n uxth %[mult], %[mult]\n"                            // the multiplier's: high, mult
      "mov %[sum], %[low]\n muls %[sum], %[mult]\n asrs %[sum], %[sum], #16\n"
      "muls %[low], %[high]\n adds %[sum], %[sum], %[low]\n"
      "muls %[mult], %[acc]\n adds %[sum], %[sum], %[mult]\n asrs %[sum], %[sum], #16\n"
      "muls %[acc], %[high]\n adds %[acc], %[acc], %[sum]\n"
      "mov %[sum], %[zero]\n lsls %[sum], %[word]\n adds %[acc], %[acc], %[sum]\n"
      "asrs %[acc], %[word]\n asrs %[acc], %[acc], #1\n"  // shifts by a register look at its low byte alone
      : [acc] "+l"(acc), [mult] "+l"(mult), [high] "=&l"(high), [low] "=&l"(low), [sum] "=&l"(sum)
      : [word] "l"(scale.word), [zero] "r"(twice_zero)
      : "cc");
  return acc;
}
#else
inline int32_t scalar_requantise(int32_t acc, const DspScale& scale, int32_t twice_zero) {
  acc = int32_t(uint32_t(acc) + uint32_t(scale.word >> 8));
  const int32_t high = kLongMultiply ? multiply_high_long(acc, scale.mult) : multiply_high_halves(acc, scale.mult);
  const int32_t shift = scale.word & 31;
  return int32_t(uint32_t(high) + (uint32_t(twice_zero) << shift)) >> shift >> 1;
}
#endif

// The clamp of an output; on ARMv7-M to int8, which is one instruction: a narrower one follows when the layer is done.
inline int8_t scalar_clamp(int32_t x, [[maybe_unused]] const ScalarRange& range) {
#if defined(CORTEN_THUMB2)
  asm("ssat %0, #8, %1" : "=r"(x) : "r"(x));
  return int8_t(x);
#else
  return int8_t(clamp(x, range.lo, range.hi));
#endif
}
inline void scalar_finish([[maybe_unused]] int8_t* y, [[maybe_unused]] uint32_t n, [[maybe_unused]] const ScalarRange& range) {
#if defined(CORTEN_THUMB2)
  if (range.lo != -128 || range.hi != 127) clamp_bytes(y, int32_t(n), range.lo, range.hi);
#endif
}

inline int8_t scalar_output(int32_t acc, const DspScale& scale, const ScalarRange& range) {
  return scalar_clamp(scalar_requantise(acc, scale, range.twice_zero), range);
}

// A channel's bias, scale and zero point as two multiplies of 32 bits: short_scale.h says how they are found.
//   output = clamp((acc * high + (acc * low >> kShortBits) + add) >> shift), acc being without its bias
inline constexpr int32_t kShortBits = 11;
struct ShortScale {
  int32_t high, add;
  uint32_t low_shift;  // low << 8 | shift
};
static_assert(sizeof(ShortScale) == 12, "part of the image format");

// Two accumulators of a channel, before the clamp.
#if defined(CORTEN_THUMB1)
// In assembly because it takes all eight low registers, and the compiler spills.
inline void short_scaled_twice(int32_t& a, int32_t& b, const ShortScale* scale) {
  uint32_t high, add, shift, low, product;
  asm(".syntax unified\n"
      "ldr %[high], [%[scale]]\n ldr %[add], [%[scale], #4]\n ldr %[shift], [%[scale], #8]\n lsrs %[low], %[shift], #8\n"
      "mov %[t], %[a]\n muls %[t], %[low]\n asrs %[t], %[t], #11\n adds %[t], %[t], %[add]\n"
      "muls %[a], %[high]\n adds %[a], %[a], %[t]\n asrs %[a], %[shift]\n"
      "mov %[t], %[b]\n muls %[t], %[low]\n asrs %[t], %[t], #11\n adds %[t], %[t], %[add]\n"
      "muls %[b], %[high]\n adds %[b], %[b], %[t]\n asrs %[b], %[shift]\n"
      : [a] "+l"(a), [b] "+l"(b), [high] "=&l"(high), [add] "=&l"(add), [shift] "=&l"(shift), [low] "=&l"(low), [t] "=&l"(product)
      : [scale] "l"(scale), "m"(*scale)
      : "cc");
}
#else
inline int32_t short_scaled(int32_t acc, const ShortScale& s) {
  const uint32_t low = uint32_t(int32_t(uint32_t(acc) * (s.low_shift >> 8)) >> kShortBits);
  return int32_t(uint32_t(acc) * uint32_t(s.high) + low + uint32_t(s.add)) >> (s.low_shift & 31);
}
inline void short_scaled_twice(int32_t& a, int32_t& b, const ShortScale* scale) {
  const ShortScale s = *scale;
  a = short_scaled(a, s), b = short_scaled(b, s);
}
#endif

}  // namespace corten
