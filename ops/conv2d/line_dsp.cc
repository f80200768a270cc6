// The outputs of a line of the DSP depthwise convolution along one axis: in assembly on the core, because the compiler spills; the
// portable loop below it is its definition and what the host runs.
#include "ops/conv2d/dsp_inner.h"

#if defined(CORTEN_DSP_ASM)

// r0-r3 sums of four outputs, r4 and r5 pairs of positions, r6-r8 taps, r9 and r10 addresses of pairs and taps, r11 end of the
// taps, r12 the four outputs' first pair, lr their place. On the stack: the struct's fields in their order from 0 (weights, pairs,
// y, step, out, words, twice_zero, channels), then from 32 the channel's bias, mult, addend, shift and the outputs left.
// clang-format off
#define WORD(here, next, sum1, sum2, sum3)  \
  "ldr r6, [r10], #4\n"                     \
  "ldr " next ", [r9], #16\n"               \
  "sxtb16 r7, r6\n"                         \
  "sxtb16 r8, r6, ror #8\n"                 \
  "smlad r1, " here ", r8, " sum1 "\n"      \
  "smlad r2, " next ", r7, " sum2 "\n"      \
  "smlad r3, " next ", r8, " sum3 "\n"      \
  "smlad r0, " here ", r7, r0\n"
#define NEXT_WORD(here, next) WORD(here, next, "r1", "r2", "r3")
asm(".syntax unified\n"
    ".pushsection .text.conv2d_dsp_line, \"ax\", %progbits\n"
    ".p2align 2\n"
    ".thumb\n"
    ".thumb_func\n"
    ".global conv2d_dsp_line\n"
    ".type conv2d_dsp_line, %function\n"
    "conv2d_dsp_line:\n"
    "push {r4-r11, lr}\n"
    "ldmia r0, {r1-r8}\n"
    "sub sp, #52\n"
    "stmia sp, {r1-r8}\n"

    "1:\n"  // a channel
    "ldr r10, [sp, #0]\n"
    "ldr r11, [sp, #20]\n"
    "ldr r7, [sp, #24]\n"
    "ldr r12, [sp, #4]\n"
    "ldr lr, [sp, #8]\n"
    "ldr r6, [sp, #16]\n"
    "add r11, r10, r11, lsl #2\n"
    "ldrd r4, r5, [r11]\n"
    "str r6, [sp, #48]\n"
    "asr r6, r4, #8\n"
    "lsl r7, r7, r4\n"
    "str r6, [sp, #32]\n"
    "str r5, [sp, #36]\n"
    "str r7, [sp, #40]\n"
    "str r4, [sp, #44]\n"

    "2:\n"  // four outputs
    "ldr r10, [sp, #0]\n"
    "ldr r0, [sp, #32]\n"
    "ldr r4, [r12]\n"
    "add r9, r12, #16\n"
    "add r12, #32\n"
    WORD("r4", "r5", "r0", "r0", "r0")
    NEXT_WORD("r5", "r4")
    "cmp r10, r11\n"
    "beq 6f\n"
    "3:\n"
    NEXT_WORD("r4", "r5")
    NEXT_WORD("r5", "r4")
    "cmp r10, r11\n"
    "bne 3b\n"
    "6:\n"
    "ldr r6, [sp, #36]\n"
    "ldr r7, [sp, #40]\n"
    "ldr r8, [sp, #44]\n"
    "ldr r9, [sp, #12]\n"
    "ldr r10, [sp, #48]\n"
    "smmla r0, r0, r6, r7\n"
    "smmla r1, r1, r6, r7\n"
    "smmla r2, r2, r6, r7\n"
    "smmla r3, r3, r6, r7\n"
    "asr r0, r0, r8\n"
    "asr r1, r1, r8\n"
    "asr r2, r2, r8\n"
    "asr r3, r3, r8\n"
    "ssat r0, #8, r0, asr #1\n"
    "ssat r1, #8, r1, asr #1\n"
    "ssat r2, #8, r2, asr #1\n"
    "ssat r3, #8, r3, asr #1\n"
    "subs r10, #4\n"
    "str r10, [sp, #48]\n"
    "blt 5f\n"
    "strb r0, [lr]\n"
    "strb r1, [lr, r9]\n"
    "add lr, lr, r9, lsl #1\n"
    "strb r2, [lr]\n"
    "strb r3, [lr, r9]\n"
    "add lr, lr, r9, lsl #1\n"
    "bne 2b\n"

    "4:\n"  // the next channel
    "ldr r4, [sp, #28]\n"
    "ldr r6, [sp, #4]\n"
    "ldr r7, [sp, #8]\n"
    "add r11, #8\n"
    "add r6, #4\n"
    "add r7, #1\n"
    "str r11, [sp, #0]\n"
    "str r6, [sp, #4]\n"
    "str r7, [sp, #8]\n"
    "subs r4, #1\n"
    "str r4, [sp, #28]\n"
    "bne 1b\n"
    "add sp, #52\n"
    "pop {r4-r11, pc}\n"

    "5:\n"  // one, two or three outputs: r10 is -3, -2 or -1
    "strb r0, [lr]\n"
    "cmn r10, #3\n"
    "beq 4b\n"
    "strb r1, [lr, r9]\n"
    "cmn r10, #2\n"
    "beq 4b\n"
    "strb r2, [lr, r9, lsl #1]\n"
    "b 4b\n"
    ".size conv2d_dsp_line, . - conv2d_dsp_line\n"
    ".popsection\n");
// clang-format on
#undef WORD
#undef NEXT_WORD

#else

namespace corten {

extern "C" void conv2d_dsp_line(const Line* line) {
  const uint32_t* weights = line->weights;
  for (int32_t c = 0; c < line->channels; c++, weights += line->words + 2) {
    const int32_t shift = int32_t(weights[line->words]), mult = int32_t(weights[line->words + 1]);
    const int32_t addend = dsp_addend(line->twice_zero, shift);
    for (int32_t i = 0; i < line->out; i++) {
      const uint32_t* pairs = line->pairs + c + i / 2 * kDepthwiseGroup;
      int32_t sum = dsp_bias(shift);
      for (int32_t k = 0; k < line->words; k++, pairs += kDepthwiseGroup)
        sum = smlad(*pairs, i % 2 ? sxtb16_ror8(weights[k]) : sxtb16(weights[k]), sum);
      line->y[i * line->step + c] = dsp_requantise(sum, mult, addend, shift);
    }
  }
}

}  // namespace corten

#endif
