// The inner loop of the scalar linear: four outputs, two of them by one multiply.
//
// A word of weights holds a byte for each output; under the mask 0x00ff00ff it is u0 + u2 * 2^16, and the same shifted right by 8
// is u1 + u3 * 2^16, u being the weight + 128. Two inputs' products of weights fit in the halves (2 * 127 * 128 < 2^15), if what
// the 128 add is taken off: that is the inputs' `start`, which also adds 2^15, so that the sum's upper half is exactly the upper
// output's part. The sum of the whole words less 2^16 times the sum of the upper halves is the lower output's part, modulo 2^32.
#pragma once
#include <stdint.h>

#include "runtime/tier.h"

namespace corten {

// Two inputs as the loop reads them.
struct InputPair {
  int32_t both;    // x0 in the low half, x1 in the high half
  uint32_t start;  // 2^15 - 128 * (x0 + x1) * (1 + 2^16)
};
inline InputPair input_pair(int32_t x0, int32_t x1) {
  return {int32_t(uint32_t(x1) << 16 | (uint32_t(x0) & 0xffff)), 32768 - (uint32_t(x0 + x1) << 7) - (uint32_t(x0 + x1) << 23)};
}

struct FourOutputs {
  int32_t sum[4];
};
inline FourOutputs four_outputs(uint32_t words0, uint32_t uppers0, uint32_t words1, uint32_t uppers1, uint32_t in) {
  const uint32_t starts = in << 14;  // 2^15 for every two inputs
  const uint32_t lower0 = words0 - (uppers0 << 16) - starts, lower1 = words1 - (uppers1 << 16) - starts;
  return {{int32_t(lower0), int32_t(lower1), int32_t(uppers0), int32_t(uppers1)}};
}

// Weights w[in], inputs x[in / 2]; 4 | in.
#if defined(CORTEN_THUMB1)
// In assembly because the compiler does not use r8-r12 as accumulators, and spills instead. Registers: r4, r5 inputs; r2, r3 and
// r5, r6 weights and products; r7 the mask; r8, r9 and r10, r11 the sums.
#define CORTEN_TWO_INPUTS                                                                       \
  "ldmia r1!, {r4, r6}\n sxth r5, r4\n asrs r4, r4, #16\n"                                      \
  "ldmia r0!, {r2}\n lsrs r3, r2, #8\n ands r2, r7\n ands r3, r7\n muls r2, r5\n muls r3, r5\n" \
  "adds r2, r2, r6\n adds r3, r3, r6\n"                                                         \
  "ldmia r0!, {r5}\n lsrs r6, r5, #8\n ands r5, r7\n ands r6, r7\n muls r5, r4\n muls r6, r4\n" \
  "adds r2, r2, r5\n adds r3, r3, r6\n"                                                         \
  "add r8, r2\n asrs r2, r2, #16\n add r9, r2\n add r10, r3\n asrs r3, r3, #16\n add r11, r3\n"
#define CORTEN_CLOBBERS "r3", "r4", "r5", "r6", "cc", "memory"
#define CORTEN_MASK "r7"
#define CORTEN_END "r12"
#elif defined(CORTEN_THUMB2)
// In assembly because the compiler spills, and scatters the loads, which take one cycle each where they stand together.
#define CORTEN_TWO_INPUTS                                                                                   \
  "ldr r2, [r0], #8\n ldr r3, [r0, #-4]\n ldr r4, [r1], #8\n ldr r6, [r1, #-4]\n"                           \
  "sxth r5, r4\n and lr, r12, r2, lsr #8\n and r2, r2, r12\n mla r2, r5, r2, r6\n mla lr, r5, lr, r6\n"     \
  "asr r4, r4, #16\n and r5, r12, r3, lsr #8\n and r3, r3, r12\n mla r2, r4, r3, r2\n mla lr, r4, r5, lr\n" \
  "add r8, r8, r2\n add r9, r9, r2, asr #16\n add r10, r10, lr\n add r11, r11, lr, asr #16\n"
#define CORTEN_CLOBBERS "r3", "r4", "r5", "r6", "lr", "cc", "memory"
#define CORTEN_MASK "r12"
#define CORTEN_END "r7"
#endif

#if defined(CORTEN_TWO_INPUTS)
[[gnu::always_inline]] inline FourOutputs dot_four_outputs(const uint32_t* w, const InputPair* x, uint32_t in) {
  register const uint32_t* weights asm("r0") = w;
  register const InputPair* inputs asm("r1") = x;
  register uint32_t words0 asm("r8") = 0;
  register uint32_t uppers0 asm("r9") = 0;
  register uint32_t words1 asm("r10") = 0;
  register uint32_t uppers1 asm("r11") = 0;
  register uint32_t odd asm("r2") = in & 4;
  register uint32_t mask asm(CORTEN_MASK) = 0x00ff00ff;
  register const uint32_t* end asm(CORTEN_END) = w + in;
  asm volatile(
      ".syntax unified\n"
      "cmp r2, #0\n bne 2f\n"  // twice four inputs; an odd number of fours begins in the middle
      "1:\n" CORTEN_TWO_INPUTS CORTEN_TWO_INPUTS "2:\n" CORTEN_TWO_INPUTS CORTEN_TWO_INPUTS "cmp r0, " CORTEN_END "\n bne 1b\n"
      : "+r"(weights), "+r"(inputs), "+r"(odd), "+r"(words0), "+r"(uppers0), "+r"(words1), "+r"(uppers1)
      : "r"(mask), "r"(end)
      : CORTEN_CLOBBERS);
  return four_outputs(words0, uppers0, words1, uppers1, in);
}
#undef CORTEN_TWO_INPUTS
#undef CORTEN_CLOBBERS
#undef CORTEN_MASK
#undef CORTEN_END
#else
inline FourOutputs dot_four_outputs(const uint32_t* w, const InputPair* x, uint32_t in) {
  constexpr uint32_t kMask = 0x00ff00ff;
  uint32_t words0 = 0, uppers0 = 0, words1 = 0, uppers1 = 0;
  for (const uint32_t* const end = w + in; w != end; w += 2, x++) {
    const uint32_t x0 = uint32_t(int16_t(x->both)), x1 = uint32_t(x->both >> 16);
    const uint32_t two0 = x0 * (w[0] & kMask) + x1 * (w[1] & kMask) + x->start;
    const uint32_t two1 = x0 * (w[0] >> 8 & kMask) + x1 * (w[1] >> 8 & kMask) + x->start;
    words0 += two0, uppers0 += uint32_t(int32_t(two0) >> 16);
    words1 += two1, uppers1 += uint32_t(int32_t(two1) >> 16);
  }
  return four_outputs(words0, uppers0, words1, uppers1, in);
}
#endif

// One output, weights as they are.
inline int32_t dot_one_output(const int8_t* w, const InputPair* x, uint32_t in) {
  int32_t sum = 0;
  for (const int8_t* const end = w + in; w != end; w += 2, x++) sum += int16_t(x->both) * w[0] + (x->both >> 16) * w[1];
  return sum;
}

}  // namespace corten
