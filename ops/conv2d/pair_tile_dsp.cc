// The tile of the DSP convolution: in assembly on the core, because it takes all fourteen registers and the compiler would spill;
// the portable loop below it is its definition and what the host runs.
#include "ops/conv2d/dsp_inner.h"

#if defined(CORTEN_DSP_ASM)

// r0-r2 sums a, r3-r5 sums b, r6 stream, r7-r9 inputs, r10 taps of both, r11 taps of a, r12 rounds, lr inputs' address. The tile's
// fields lie on the stack in their order: 0 stream, 4 x, 8 y, 12 d1, 16 d2, 20 twice_zero, 24 entry (from steps), 28 rounds, 32
// end - 1. One word of taps on three pairs of inputs takes 12 cycles. The first step begins the sums; every instruction of the
// others is 4 bytes long: the loop is entered at the step that leaves a whole number of rounds.
#define STEP                \
  "ldr.w r10, [r6], #4\n"   \
  "ldr.w r7, [lr], #12\n"   \
  "ldr.w r8, [lr, #-8]\n"   \
  "ldr.w r9, [lr, #-4]\n"   \
  "sxtb16.w r11, r10\n"     \
  "smlad r0, r11, r7, r0\n" \
  "smlad r3, r10, r7, r3\n" \
  "smlad r1, r11, r8, r1\n" \
  "smlad r4, r10, r8, r4\n" \
  "smlad r2, r11, r9, r2\n" \
  "smlad r5, r10, r9, r5\n"
#define REQUANTISE(a, mult, addend, shift) \
  "smmla " a ", " a ", " mult ", " addend  \
  "\n"                                     \
  "asr.w " a ", " a ", " shift             \
  "\n"                                     \
  "ssat " a ", #8, " a ", asr #1\n"
// Outside any function, so that no optimisation across functions can misjudge which registers it changes.
asm(".syntax unified\n"
    ".pushsection .text.conv2d_dsp_pair_tile, \"ax\", %progbits\n"
    ".p2align 2\n"
    ".thumb\n"
    ".thumb_func\n"
    ".global conv2d_dsp_pair_tile\n"
    ".type conv2d_dsp_pair_tile, %function\n"
    "conv2d_dsp_pair_tile:\n"
      "push {r4-r11, lr}\n"
      "ldmia r0, {r4-r12}\n"
      "rsb r10, r10, r11, lsl #4\n"  // steps to skip, less one, of 44 bytes
      "mov lr, #44\n"
      "mul r10, r10, lr\n"
      "add r10, #42\n"  // the pc read is 4 past the add, the loop 2
      "sub r12, #1\n"
      "push {r4-r12}\n"
      "mov r6, r4\n"
      "mov lr, r5\n"
      "mov r12, r11\n"
      "2:\n"
      "ldmia r6!, {r0, r3, r10}\n"
      "ldmia lr!, {r7, r8, r9}\n"
      "sxtb16 r11, r10\n"
      "smlad r1, r11, r8, r0\n"
      "smlad r4, r10, r8, r3\n"
      "smlad r2, r11, r9, r0\n"
      "smlad r5, r10, r9, r3\n"
      "smlad r0, r11, r7, r0\n"
      "smlad r3, r10, r7, r3\n"
      "ldr r11, [sp, #24]\n"
      "add pc, r11\n"
      "1:\n" STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
      "subs.w r12, r12, #1\n"
      "bne.w 1b\n"
      "ldmia r6!, {r7, r8, r9}\n"
      "ldr r10, [sp, #20]\n"
      "ldr r11, [sp, #8]\n"
      "ldr r12, [sp, #12]\n"
      "ldr lr, [sp, #16]\n"
      "sub r3, r3, r0\n"
      "sub r4, r4, r1\n"
      "sub r5, r5, r2\n"
      "lsl r10, r10, r9\n"
      REQUANTISE("r2", "r7", "r10", "r9")
      "strb r2, [r11, lr]\n"
      REQUANTISE("r1", "r7", "r10", "r9")
      "strb r1, [r11, r12]\n"
      REQUANTISE("r0", "r7", "r10", "r9")
      "strb r0, [r11], #1\n"
      "ldr r10, [sp, #20]\n"
      "ldr r0, [sp, #32]\n"
      "lsr r9, r9, #8\n"
      "lsl r10, r10, r9\n"
      "cmp r11, r0\n"  // past the last channel, at it, or before; nothing below changes the flags
      "bhi 3f\n"
      REQUANTISE("r5", "r8", "r10", "r9")
      "strb r5, [r11, lr]\n"
      REQUANTISE("r4", "r8", "r10", "r9")
      "strb r4, [r11, r12]\n"
      REQUANTISE("r3", "r8", "r10", "r9")
      "strb r3, [r11], #1\n"
      "str r11, [sp, #8]\n"
      "ldr lr, [sp, #4]\n"
      "ldr r12, [sp, #28]\n"
      "blo.w 2b\n"
      "3:\n"
      "add sp, #36\n"
      "pop {r4-r11, pc}\n"
    ".size conv2d_dsp_pair_tile, . - conv2d_dsp_pair_tile\n"
    ".popsection\n");
#undef REQUANTISE
#undef STEP

#else

namespace corten {

extern "C" void conv2d_dsp_pair_tile(const PairTile* t) {
  const uint32_t* s = t->stream;
  const int32_t d[3] = {0, t->d1, t->d2};
  for (int8_t* y = t->y; y < t->end; y += 2) {
    int32_t a[3], b[3];
    for (int32_t i = 0; i < 3; i++) a[i] = int32_t(s[0]), b[i] = int32_t(s[1]);
    s += 2;
    for (const uint32_t* x = t->x; x != t->x + 3 * t->steps; x += 3, s++)
      for (int32_t i = 0; i < 3; i++) a[i] = smlad(sxtb16(*s), x[i], a[i]), b[i] = smlad(*s, x[i], b[i]);
    const int32_t addend_a = lsl_byte(t->twice_zero, s[2]), addend_b = lsl_byte(t->twice_zero, s[2] >> 8);
    for (int32_t i = 2; i >= 0; i--) {
      y[d[i]] = dsp_requantise(a[i], int32_t(s[0]), addend_a, s[2]);
      if (y + 1 != t->end)
        y[d[i] + 1] = dsp_requantise(int32_t(uint32_t(b[i]) - uint32_t(a[i])), int32_t(s[1]), addend_b, s[2] >> 8);
    }
    s += 3;
  }
}

}  // namespace corten

#endif
