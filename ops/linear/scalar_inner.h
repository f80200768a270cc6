// The inner loop of the scalar linear: four outputs, whose weights are interleaved by words of four inputs.
#pragma once
#include <stdint.h>

#include "runtime/tier.h"

namespace corten {

// Adds to acc[4] the products of x[in] with w[in] words; 4 | in.
#if defined(CORTEN_THUMB1)
// In assembly because the compiler does not use r8-r12 as accumulators, and spills instead.
#define CORTEN_FOUR_TAPS(acc)                                                  \
  "ldmia r0!, {r2}\n sxtb r3, r2\n muls r3, r4\n add " acc ", r3\n"            \
  "lsls r3, r2, #16\n asrs r3, r3, #24\n muls r3, r5\n add " acc ", r3\n"      \
  "lsls r3, r2, #8\n asrs r3, r3, #24\n muls r3, r6\n add " acc ", r3\n"       \
  "asrs r2, r2, #24\n muls r2, r7\n add " acc ", r2\n"

[[gnu::always_inline]] inline void dot_four_outputs(const uint32_t* w, const int32_t* x, uint32_t in, int32_t acc[4]) {
  register const uint32_t* weights asm("r0") = w;
  register const int32_t* inputs asm("r1") = x;
  register int32_t acc0 asm("r8") = acc[0];
  register int32_t acc1 asm("r9") = acc[1];
  register int32_t acc2 asm("r10") = acc[2];
  register int32_t acc3 asm("r11") = acc[3];
  register const uint32_t* end asm("r12") = w + in;
  asm volatile(
      ".syntax unified\n"
      "1: ldmia r1!, {r4, r5, r6, r7}\n"  //
      CORTEN_FOUR_TAPS("r8") CORTEN_FOUR_TAPS("r9") CORTEN_FOUR_TAPS("r10") CORTEN_FOUR_TAPS("r11")
      "cmp r0, r12\n bne 1b\n"
      : "+r"(weights), "+r"(inputs), "+r"(acc0), "+r"(acc1), "+r"(acc2), "+r"(acc3)
      : "r"(end)
      : "r2", "r3", "r4", "r5", "r6", "r7", "cc", "memory");
  acc[0] = acc0, acc[1] = acc1, acc[2] = acc2, acc[3] = acc3;
}
#undef CORTEN_FOUR_TAPS
#else
constexpr int32_t dot_word(uint32_t w, const int32_t* x) {
  return x[0] * int8_t(w) + x[1] * int8_t(w >> 8) + x[2] * int8_t(w >> 16) + x[3] * int8_t(w >> 24);
}
[[gnu::always_inline]] inline void dot_four_outputs(const uint32_t* w, const int32_t* x, uint32_t in, int32_t acc[4]) {
  int32_t acc0 = acc[0], acc1 = acc[1], acc2 = acc[2], acc3 = acc[3];
  for (const uint32_t* const end = w + in; w != end; w += 4, x += 4) {
    acc0 += dot_word(w[0], x), acc1 += dot_word(w[1], x);
    acc2 += dot_word(w[2], x), acc3 += dot_word(w[3], x);
  }
  acc[0] = acc0, acc[1] = acc1, acc[2] = acc2, acc[3] = acc3;
}
#endif

}  // namespace corten
