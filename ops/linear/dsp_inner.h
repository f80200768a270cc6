// The inner loops of the DSP linear rows. The one over four outputs is in assembly on the core, because it takes all fourteen
// registers and the compiler would spill; the portable loop below it is its definition and what the host runs.
#pragma once
#include "runtime/simd.h"

namespace corten {

// Sums of two pairs of outputs.
struct Sums4 {
  int32_t a, b, c, d;
};

#if defined(CORTEN_DSP_ASM)

// Four inputs on four outputs: twenty cycles. Every instruction is 4 bytes long, on which the entry into the unrolled loop depends.
#define CORTEN_STEP                \
  "ldr.w %[x], [%[xp]], #4\n"      \
  "ldr.w %[s], [%[wp]], #16\n"     \
  "ldr.w %[t], [%[wp], #-12]\n"    \
  "ldr.w %[u], [%[wp], #-8]\n"     \
  "ldr.w %[v], [%[wp], #-4]\n"     \
  "sxtb16.w %[y], %[x]\n"          \
  "sxtb16.w %[x], %[x], ror #8\n"  \
  "sxtb16.w %[k], %[s]\n"          \
  "smlad %[a], %[k], %[y], %[a]\n" \
  "smlad %[b], %[s], %[y], %[b]\n" \
  "sxtb16.w %[k], %[t]\n"          \
  "smlad %[c], %[k], %[y], %[c]\n" \
  "smlad %[d], %[t], %[y], %[d]\n" \
  "sxtb16.w %[k], %[u]\n"          \
  "smlad %[a], %[k], %[x], %[a]\n" \
  "smlad %[b], %[u], %[x], %[b]\n" \
  "sxtb16.w %[k], %[v]\n"          \
  "smlad %[c], %[k], %[x], %[c]\n" \
  "smlad %[d], %[v], %[x], %[d]\n"
inline void dot_4x1(const uint32_t*& weights, const int8_t* x, int32_t fours, Sums4& s) {
  int32_t rounds = (fours + 3) / 4;
  uint32_t entry = uint32_t(rounds * 4 - fours) * 76, t0, t1, t2, t3, t4, t5;
  asm volatile(
      ".p2align 2\n"
      "add pc, %[k]\n"
      "nop.n\n"
      "1:\n" CORTEN_STEP CORTEN_STEP CORTEN_STEP CORTEN_STEP
      "subs.w %[n], %[n], #1\n"
      "bne.w 1b\n"
      : [a] "+r"(s.a), [b] "+r"(s.b), [c] "+r"(s.c), [d] "+r"(s.d), [wp] "+r"(weights), [xp] "+r"(x), [n] "+r"(rounds),
        [k] "+r"(entry), [x] "=&r"(t0), [y] "=&r"(t1), [s] "=&r"(t2), [t] "=&r"(t3), [u] "=&r"(t4), [v] "=&r"(t5)
      :
      : "cc", "memory");
}
#undef CORTEN_STEP

#else

// fours >= 1 times four inputs on two interleaved pairs of combined weights, which move on; a + 256 * b is left in b, c + 256 * d
// in d.
inline void dot_4x1(const uint32_t*& weights, const int8_t* x, int32_t fours, Sums4& s) {
  for (; fours > 0; fours--, x += 4, weights += 4) {
    const uint32_t even = sxtb16(load4(x)), odd = sxtb16_ror8(load4(x));
    s.a = smlad(sxtb16(weights[0]), even, s.a), s.b = smlad(weights[0], even, s.b);
    s.c = smlad(sxtb16(weights[1]), even, s.c), s.d = smlad(weights[1], even, s.d);
    s.a = smlad(sxtb16(weights[2]), odd, s.a), s.b = smlad(weights[2], odd, s.b);
    s.c = smlad(sxtb16(weights[3]), odd, s.c), s.d = smlad(weights[3], odd, s.d);
  }
}

#endif

// The same for one pair whose words are `stride` words apart; combined weights or separate ones.
template <bool kCombined>
inline void dot_2x1(const uint32_t* weights, int32_t stride, const int8_t* x, int32_t fours, int32_t& a, int32_t& b) {
  for (; fours > 0; fours--, x += 4, weights += 2 * stride) {
    const uint32_t v = load4(x), even = sxtb16(v), odd = sxtb16_ror8(v), w0 = weights[0], w1 = weights[stride];
    a = smlad(sxtb16(w0), even, a), b = smlad(kCombined ? w0 : sxtb16_ror8(w0), even, b);
    a = smlad(sxtb16(w1), odd, a), b = smlad(kCombined ? w1 : sxtb16_ror8(w1), odd, b);
  }
}

// The last inputs of a row, fewer than four, as a word of their own: nothing is read behind the row.
struct RowTail {
  int32_t fours;  // whole fours before it: 0 or more
  bool any;
  alignas(4) int8_t bytes[4] = {0, 0, 0, 0};
  RowTail(const int8_t* x, uint32_t in) : fours(int32_t(in / 4)), any(in % 4 != 0) {
    for (uint32_t k = in & ~3u; k < in; k++) bytes[k % 4] = x[k];
  }
};

}  // namespace corten
