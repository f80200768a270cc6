// The inner loop of the DSP convolutions: two output channels times three pixels. In assembly on the core, because it takes all
// fourteen registers and the compiler would spill; the portable loop below it is its definition and what the host runs.
#pragma once
#include "runtime/simd.h"

namespace corten {

// Sums of channels a and b for three pixels.
struct Sums {
  int32_t a0, a1, a2, b0, b1, b2;
};

#if defined(CORTEN_DSP_ASM)

// One word of weights (two channels, two taps) on three pairs of inputs. Thirteen cycles at most; every instruction is 4 bytes
// long, on which the entry into the unrolled loop depends.
#define CORTEN_STEP_LOADS      \
  "ldr.w %[w], [%[wp]], #4\n"  \
  "ldr.w %[x], [%[xp]], #12\n" \
  "ldr.w %[y], [%[xp], #-8]\n" \
  "ldr.w %[z], [%[xp], #-4]\n" \
  "sxtb16.w %[v], %[w]\n"
#define CORTEN_STEP_MACS             \
  "smlad %[a0], %[v], %[x], %[a0]\n" \
  "smlad %[b0], %[w], %[x], %[b0]\n" \
  "smlad %[a1], %[v], %[y], %[a1]\n" \
  "smlad %[b1], %[w], %[y], %[b1]\n" \
  "smlad %[a2], %[v], %[z], %[a2]\n" \
  "smlad %[b2], %[w], %[z], %[b2]\n"
#define CORTEN_STEP_COMBINED CORTEN_STEP_LOADS CORTEN_STEP_MACS
#define CORTEN_STEP_SEPARATE CORTEN_STEP_LOADS "sxtb16.w %[w], %[w], ror #8\n" CORTEN_STEP_MACS
// Enters the loop of eight steps where a whole number of rounds is left: `entry` is the distance of that step from the loop's
// start.
#define CORTEN_LOOP(step)                                                                                                         \
  asm volatile(                                                                                                                   \
      ".p2align 2\n"                                                                                                              \
      "add pc, %[v]\n"                                                                                                            \
      "nop.n\n"                                                                                                                   \
      "1:\n" step step step step step step step step                                                                              \
      "subs.w %[n], %[n], #1\n"                                                                                                   \
      "bne.w 1b\n"                                                                                                                \
      : [a0] "+r"(s.a0), [a1] "+r"(s.a1), [a2] "+r"(s.a2), [b0] "+r"(s.b0), [b1] "+r"(s.b1), [b2] "+r"(s.b2), [wp] "+r"(weights), \
        [xp] "+r"(x), [n] "+r"(rounds), [v] "+r"(entry), [w] "=&r"(t0), [x] "=&r"(t1), [y] "=&r"(t2), [z] "=&r"(t3)               \
      :                                                                                                                           \
      : "cc", "memory")

template <bool kCombined>
struct DotPlan {
  int32_t rounds, entry;
  explicit DotPlan(int32_t steps) : rounds((steps + 7) / 8), entry((rounds * 8 - steps) * (kCombined ? 44 : 48)) {}
};
template <bool kCombined>
inline void dot_2x3(const DotPlan<kCombined>& plan, const uint32_t*& weights, const uint32_t* x, Sums& s) {
  int32_t rounds = plan.rounds, entry = plan.entry;
  uint32_t t0, t1, t2, t3;
  if constexpr (kCombined) {
    CORTEN_LOOP(CORTEN_STEP_COMBINED);
  } else {
    CORTEN_LOOP(CORTEN_STEP_SEPARATE);
  }
}
#undef CORTEN_LOOP
#undef CORTEN_STEP_SEPARATE
#undef CORTEN_STEP_COMBINED
#undef CORTEN_STEP_MACS
#undef CORTEN_STEP_LOADS

#else

template <bool kCombined>
struct DotPlan {
  int32_t steps;
  explicit DotPlan(int32_t n) : steps(n) {}
};
// x holds `steps` times three pairs; `weights` moves on by `steps` words. Combined weights leave a + 256 * b in s.b.
template <bool kCombined>
inline void dot_2x3(const DotPlan<kCombined>& plan, const uint32_t*& weights, const uint32_t* x, Sums& s) {
  for (int32_t i = 0; i < plan.steps; i++, x += 3) {
    const uint32_t w = *weights++, a = sxtb16(w), b = kCombined ? w : sxtb16_ror8(w);
    s.a0 = smlad(a, x[0], s.a0), s.a1 = smlad(a, x[1], s.a1), s.a2 = smlad(a, x[2], s.a2);
    s.b0 = smlad(b, x[0], s.b0), s.b1 = smlad(b, x[1], s.b1), s.b2 = smlad(b, x[2], s.b2);
  }
}

#endif

}  // namespace corten
