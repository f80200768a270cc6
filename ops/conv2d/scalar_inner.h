// The inner loop of the scalar convolution: two channels by two pixels.
//
// A word of `x` holds the inputs of two pixels, a + b * 2^16, so that one multiply serves both. Two taps' products still fit in
// the halves (2 * 127 * 128 < 2^15): with 2^15 added, the sum's upper half is exactly b's part, and the sum of the whole words less
// 2^16 times the sum of the upper halves is a's part, modulo 2^32.
#pragma once
#include <stdint.h>
#include <string.h>

#include "runtime/tier.h"

namespace corten {

struct PixelPair {
  int32_t a, b;
};
struct TwoChannels {
  PixelPair first, next;
};

// Sums over words and over upper halves, two taps each time; `taps` in all.
inline PixelPair pixel_pair(uint32_t words, uint32_t uppers, uint32_t taps) {
  return {int32_t(words - (uppers << 16) - (taps << 14)), int32_t(uppers)};
}

constexpr int32_t kUpperHalf = 1 << 15;
// Unsigned inside: a weight of -128, which no packing writes, must not be undefined behaviour.
constexpr int32_t two_taps(int32_t x0, int32_t w0, int32_t x1, int32_t w1) {
  return int32_t(uint32_t(x0) * uint32_t(w0) + uint32_t(kUpperHalf) + uint32_t(x1) * uint32_t(w1));
}

// One channel, weights w[taps], 4 | taps.
inline PixelPair dot_one_channel(const int8_t* w, const int32_t* x, uint32_t taps) {
  uint32_t words = 0, uppers = 0;
  for (uint32_t k = 0; k < taps; k += 2) {
    const int32_t two = two_taps(x[k], w[k], x[k + 1], w[k + 1]);
    words += uint32_t(two), uppers += uint32_t(two >> 16);
  }
  return pixel_pair(words, uppers, taps);
}

// Two channels, weights by words as pack_scalar.h says.
#if defined(CORTEN_THUMB1)
// In assembly because the compiler does not use r8-r12 as accumulators, and spills instead. Registers: r4, r7 inputs; r2, r3 four
// weights of each channel; r5, r6 and r4 products; r8, r9 and r10, r11 the sums.
#define CORTEN_ADD_TWO_TAPS(two, words, uppers) "add " words ", " two "\n asrs " two ", " two ", #16\n add " uppers ", " two "\n"
#define CORTEN_FOUR_TAPS \
  "ldmia r0!, {r2, r3}\n ldmia r1!, {r4, r7}\n"                                                                \
  "sxtb r5, r2\n muls r5, r4\n add r5, r12\n"                                                                  \
  "sxtb r6, r3\n muls r6, r4\n add r6, r12\n"                                                                  \
  "lsls r4, r2, #16\n asrs r4, r4, #24\n muls r4, r7\n adds r5, r5, r4\n" CORTEN_ADD_TWO_TAPS("r5", "r8", "r9")   \
  "lsls r4, r3, #16\n asrs r4, r4, #24\n muls r4, r7\n adds r6, r6, r4\n" CORTEN_ADD_TWO_TAPS("r6", "r10", "r11") \
  "ldmia r1!, {r4, r7}\n"                                                                                      \
  "lsls r5, r2, #8\n asrs r5, r5, #24\n muls r5, r4\n add r5, r12\n"                                           \
  "lsls r6, r3, #8\n asrs r6, r6, #24\n muls r6, r4\n add r6, r12\n"                                           \
  "asrs r2, r2, #24\n muls r2, r7\n adds r5, r5, r2\n" CORTEN_ADD_TWO_TAPS("r5", "r8", "r9")                      \
  "asrs r3, r3, #24\n muls r3, r7\n adds r6, r6, r3\n" CORTEN_ADD_TWO_TAPS("r6", "r10", "r11")

[[gnu::always_inline]] inline TwoChannels dot_two_channels(const uint32_t* w, const int32_t* x, uint32_t taps) {
  register const uint32_t* weights asm("r0") = w;
  register const int32_t* inputs asm("r1") = x;
  register uint32_t odd asm("r2") = taps & 4;
  register uint32_t words0 asm("r8") = 0;
  register uint32_t uppers0 asm("r9") = 0;
  register uint32_t words1 asm("r10") = 0;
  register uint32_t uppers1 asm("r11") = 0;
  register int32_t upper_half asm("r12") = kUpperHalf;
  register const uint32_t* end asm("lr") = w + taps / 2;
  asm volatile(
      ".syntax unified\n"
      "cmp r2, #0\n bne 2f\n"  // twice four taps; an odd number of fours begins in the middle
      "1:\n" CORTEN_FOUR_TAPS "2:\n" CORTEN_FOUR_TAPS "cmp r0, lr\n bne 1b\n"
      : "+r"(weights), "+r"(inputs), "+r"(odd), "+r"(words0), "+r"(uppers0), "+r"(words1), "+r"(uppers1)
      : "r"(upper_half), "r"(end)
      : "r3", "r4", "r5", "r6", "r7", "cc", "memory");
  return {pixel_pair(words0, uppers0, taps), pixel_pair(words1, uppers1, taps)};
}
#undef CORTEN_ADD_TWO_TAPS
#undef CORTEN_FOUR_TAPS
#elif defined(CORTEN_THUMB2)
// In assembly because the compiler spills, and takes a multiply and an add for MLA. Loads stand together, where each takes one
// cycle; the first one moves r0 to the next four taps. Registers: r2, r3 inputs; r9, r10 and r11, lr weights; r4, r5 and r6, r8 the
// sums.
#define CORTEN_TWO_TAPS(a0, a1, b0, b1)                                                             \
  "ldrsb r9, [r0" a0 "\n ldrsb r10, [r0, #" a1 "]\n ldrsb r11, [r0, #" b0 "]\n ldrsb lr, [r0, #" b1 \
  "]\n"                                                                                             \
  "ldr r2, [r1], #4\n ldr r3, [r1], #4\n"                                                           \
  "mla r9, r2, r9, r12\n mla r9, r3, r10, r9\n mla r11, r2, r11, r12\n mla r11, r3, lr, r11\n"      \
  "add r4, r4, r9\n add r5, r5, r9, asr #16\n add r6, r6, r11\n add r8, r8, r11, asr #16\n"
#define CORTEN_FOUR_TAPS CORTEN_TWO_TAPS("], #8", "-7", "-4", "-3") CORTEN_TWO_TAPS(", #-6]", "-5", "-2", "-1")

[[gnu::always_inline]] inline TwoChannels dot_two_channels(const uint32_t* w, const int32_t* x, uint32_t taps) {
  register const uint32_t* weights asm("r0") = w;
  register const int32_t* inputs asm("r1") = x;
  register uint32_t words0 asm("r4") = 0;
  register uint32_t uppers0 asm("r5") = 0;
  register uint32_t words1 asm("r6") = 0;
  register uint32_t uppers1 asm("r8") = 0;
  register int32_t upper_half asm("r12") = kUpperHalf;
  register uint32_t odd asm("r2") = taps & 4;
  register const uint32_t* end asm("r7") = w + taps / 2;
  asm volatile(
      "cmp r2, #0\n bne 2f\n"  // twice four taps; an odd number of fours begins in the middle
      "1:\n" CORTEN_FOUR_TAPS "2:\n" CORTEN_FOUR_TAPS "cmp r0, r7\n bne 1b\n"
      : "+r"(weights), "+r"(inputs), "+r"(odd), "+r"(words0), "+r"(uppers0), "+r"(words1), "+r"(uppers1)
      : "r"(upper_half), "r"(end)
      : "r3", "r9", "r10", "r11", "lr", "cc", "memory");
  return {pixel_pair(words0, uppers0, taps), pixel_pair(words1, uppers1, taps)};
}
#undef CORTEN_TWO_TAPS
#undef CORTEN_FOUR_TAPS
#else
constexpr int32_t weight_of(uint32_t word, int32_t k) { return int32_t(word << (24 - 8 * k)) >> 24; }

[[gnu::always_inline]] inline TwoChannels dot_two_channels(const uint32_t* w, const int32_t* x, uint32_t taps) {
  uint32_t words0 = 0, uppers0 = 0, words1 = 0, uppers1 = 0;
  const uint32_t* const end = w + taps / 2;
  do {
    const uint32_t w0 = w[0], w1 = w[1];
    const int32_t x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    const int32_t low0 = two_taps(x0, weight_of(w0, 0), x1, weight_of(w0, 1));
    words0 += uint32_t(low0), uppers0 += uint32_t(low0 >> 16);
    const int32_t low1 = two_taps(x0, weight_of(w1, 0), x1, weight_of(w1, 1));
    words1 += uint32_t(low1), uppers1 += uint32_t(low1 >> 16);
    const int32_t high0 = two_taps(x2, weight_of(w0, 2), x3, weight_of(w0, 3));
    words0 += uint32_t(high0), uppers0 += uint32_t(high0 >> 16);
    const int32_t high1 = two_taps(x2, weight_of(w1, 2), x3, weight_of(w1, 3));
    words1 += uint32_t(high1), uppers1 += uint32_t(high1 >> 16);
    w += 2, x += 4;
  } while (w != end);
  return {pixel_pair(words0, uppers0, taps), pixel_pair(words1, uppers1, taps)};
}
#endif

}  // namespace corten
