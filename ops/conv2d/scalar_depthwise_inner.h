// The inner loop of the scalar 3 x 3 depthwise convolution: two neighbouring outputs from rows of inputs widened to words.
#pragma once
#include <stdint.h>

#include "runtime/tier.h"

namespace corten {

struct TwoOutputs {
  int32_t left, right;
};
struct ThreeRows {
  const int32_t *a, *b, *c;
};

// Sums of w[9] over the windows that begin at the rows and kStride words further right.
#if defined(CORTEN_THUMB1)
// In assembly because the compiler does not use r8-r12 and loads words one by one. Registers: r0 weights, r1-r3 a row of them,
// r4-r7 inputs, r8 and r9 the sums, r10-r12 the rows.
#define CORTEN_ROW_STRIDE_1(row)                                       \
  "ldmia r0!, {r1, r2, r3}\n mov r7, " row                             \
  "\n ldmia r7, {r4, r5, r6, r7}\n"                                    \
  "muls r4, r1\n add r8, r4\n muls r7, r3\n add r9, r7\n"              \
  "mov r4, r5\n muls r4, r2\n add r8, r4\n muls r5, r1\n add r9, r5\n" \
  "mov r4, r6\n muls r4, r3\n add r8, r4\n muls r6, r2\n add r9, r6\n"
#define CORTEN_ROW_STRIDE_2(row)                                       \
  "ldmia r0!, {r1, r2, r3}\n mov r7, " row                             \
  "\n ldmia r7!, {r4, r5, r6}\n"                                       \
  "muls r4, r1\n add r8, r4\n muls r5, r2\n add r8, r5\n"              \
  "mov r4, r6\n muls r4, r3\n add r8, r4\n muls r6, r1\n add r9, r6\n" \
  "ldmia r7!, {r4, r5}\n muls r4, r2\n add r9, r4\n muls r5, r3\n add r9, r5\n"

template <int32_t kStride>
[[gnu::always_inline]] inline TwoOutputs dot_3x3_twice(const ThreeRows& rows, const int32_t* w) {
  static_assert(kStride == 1 || kStride == 2);
  register const int32_t* weights asm("r0") = w;
  register int32_t left asm("r8") = 0;
  register int32_t right asm("r9") = 0;
  register const int32_t* row0 asm("r10") = rows.a;
  register const int32_t* row1 asm("r11") = rows.b;
  register const int32_t* row2 asm("r12") = rows.c;
  if constexpr (kStride == 1)
    asm volatile(".syntax unified\n" CORTEN_ROW_STRIDE_1("r10") CORTEN_ROW_STRIDE_1("r11") CORTEN_ROW_STRIDE_1("r12")
                 : "+r"(weights), "+r"(left), "+r"(right)
                 : "r"(row0), "r"(row1), "r"(row2)
                 : "r1", "r2", "r3", "r4", "r5", "r6", "r7", "cc", "memory");
  else
    asm volatile(".syntax unified\n" CORTEN_ROW_STRIDE_2("r10") CORTEN_ROW_STRIDE_2("r11") CORTEN_ROW_STRIDE_2("r12")
                 : "+r"(weights), "+r"(left), "+r"(right)
                 : "r"(row0), "r"(row1), "r"(row2)
                 : "r1", "r2", "r3", "r4", "r5", "r6", "r7", "cc", "memory");
  return {left, right};
}
#undef CORTEN_ROW_STRIDE_1
#undef CORTEN_ROW_STRIDE_2
#elif defined(CORTEN_THUMB2)
// In assembly for LDM: the compiler loads words one by one. Row by row, as all three at once take more registers than there always
// are. Moves w on to the next row.
template <int32_t kStride>
[[gnu::always_inline]] inline void dot_row(const int32_t*& w, const int32_t* row, TwoOutputs& sum) {
  if constexpr (kStride == 1)
    asm("ldm %[w]!, {r1, r2, r3}\n ldm %[row], {r4, r5, r6, r8}\n"
        "mla %[left], r4, r1, %[left]\n mla %[left], r5, r2, %[left]\n mla %[left], r6, r3, %[left]\n"
        "mla %[right], r5, r1, %[right]\n mla %[right], r6, r2, %[right]\n mla %[right], r8, r3, %[right]\n"
        : [w] "+r"(w), [left] "+r"(sum.left), [right] "+r"(sum.right)
        : [row] "r"(row)
        : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "memory");
  else
    asm("ldm %[w]!, {r1, r2, r3}\n ldm %[row], {r4, r5, r6}\n"
        "mla %[left], r4, r1, %[left]\n mla %[left], r5, r2, %[left]\n mla %[left], r6, r3, %[left]\n"
        "ldr r4, [%[row], #12]\n ldr r5, [%[row], #16]\n"
        "mla %[right], r6, r1, %[right]\n mla %[right], r4, r2, %[right]\n mla %[right], r5, r3, %[right]\n"
        : [w] "+r"(w), [left] "+r"(sum.left), [right] "+r"(sum.right)
        : [row] "r"(row)
        : "r1", "r2", "r3", "r4", "r5", "r6", "memory");
}

template <int32_t kStride>
[[gnu::always_inline]] inline TwoOutputs dot_3x3_twice(const ThreeRows& rows, const int32_t* w) {
  static_assert(kStride == 1 || kStride == 2);
  TwoOutputs sum = {0, 0};
  dot_row<kStride>(w, rows.a, sum), dot_row<kStride>(w, rows.b, sum), dot_row<kStride>(w, rows.c, sum);
  return sum;
}
#else
template <int32_t kStride>
[[gnu::always_inline]] inline TwoOutputs dot_3x3_twice(const ThreeRows& rows, const int32_t* w) {
  const int32_t* const row[3] = {rows.a, rows.b, rows.c};
  uint32_t left = 0, right = 0;  // unsigned, as a last odd output has a neighbour of garbage
  for (int32_t r = 0; r < 3; r++, w += 3) {
    const uint32_t w0 = uint32_t(w[0]), w1 = uint32_t(w[1]), w2 = uint32_t(w[2]);
    const int32_t *const a = row[r], *const b = a + kStride;
    left += uint32_t(a[0]) * w0 + uint32_t(a[1]) * w1 + uint32_t(a[2]) * w2;
    right += uint32_t(b[0]) * w0 + uint32_t(b[1]) * w1 + uint32_t(b[2]) * w2;
  }
  return {int32_t(left), int32_t(right)};
}
#endif

}  // namespace corten
