// The rows of the DSP depthwise 3x3 convolution: in assembly on the core, because they take all fourteen registers and the compiler
// would spill; the portable loops below are their definition and what the host runs.
#include "ops/conv2d/dsp_inner.h"

#if defined(CORTEN_DSP_ASM)

// r0-r2 first taps (w0, w1) of the columns, r3-r5 last taps (w1, w2), r6 and r7 sums of column 0 (upper and lower row), r8 and r9
// of column 1, r10 and r11 words of the upper and lower pair, r12 and lr their addresses. On the stack: the struct's fields in
// their order from 0 (weights, p, q, y, down, stride, columns, twice_zero, channels), then from 36 the channel's bias, mult,
// addend, shift and y, and at 56 the columns left.
// clang-format off
#define LOAD(offset) "ldr r10, [r12, #" offset "]\n ldr r11, [lr, #" offset "]\n"
#define LOAD_FIRST(next) "ldr r10, [r12], #" next "\n ldr r11, [lr], #" next "\n"  // and moves on
#define COLUMN_ONTO(sum_u, sum_l, upper, lower, first, last) \
  "smlad " upper ", r10, " first ", " sum_u "\n"             \
  "smlatb " lower ", r10, " first ", " sum_l "\n"            \
  "smlabt " upper ", r11, " last ", " upper "\n"             \
  "smlad " lower ", r11, " last ", " lower "\n"
#define COLUMN(upper, lower, ...) COLUMN_ONTO(upper, lower, upper, lower, __VA_ARGS__)
#define BEGIN0(...) COLUMN_ONTO("r9", "r9", "r6", "r7", __VA_ARGS__)  // r9: the bias
#define BEGIN1(...) COLUMN_ONTO("r9", "r9", "r8", "r9", __VA_ARGS__)
#define COLUMN0(...) COLUMN("r6", "r7", __VA_ARGS__)
#define COLUMN1(...) COLUMN("r8", "r9", __VA_ARGS__)
#define FUNCTION(name)                        \
  ".pushsection .text." name ", \"ax\", %progbits\n" \
  ".p2align 2\n"                              \
  ".thumb\n"                                  \
  ".thumb_func\n"                             \
  ".global " name "\n"                        \
  ".type " name ", %function\n" name ":\n"
#define END(name) ".size " name ", . - " name "\n .popsection\n"
// For each channel from 1: on, its taps and scale.
#define BEGIN_CHANNELS \
  "push {r4-r11, lr}\n" \
  "ldmia r0, {r1-r9}\n" \
  "sub sp, #60\n" \
  "stmia sp, {r1-r9}\n" \
  "1:\n" /* a channel: its taps, its scale */ \
  "ldr r6, [sp, #0]\n" \
  "ldr r7, [sp, #28]\n" \
  "ldr r12, [sp, #4]\n" \
  "ldr lr, [sp, #8]\n" \
  "ldr r11, [sp, #12]\n" \
  "ldr r10, [sp, #24]\n" \
  "ldmia r6!, {r3, r4, r5, r8, r9}\n" \
  "str r6, [sp, #0]\n" \
  "sxtb16 r0, r3\n" \
  "sxtb16 r1, r4\n" \
  "sxtb16 r2, r5\n" \
  "sxtb16 r3, r3, ror #8\n" \
  "sxtb16 r4, r4, ror #8\n" \
  "sxtb16 r5, r5, ror #8\n" \
  "lsl r7, r7, r8\n" \
  "asr r6, r8, #8\n" \
  "str r6, [sp, #36]\n" \
  "str r9, [sp, #40]\n" \
  "str r7, [sp, #44]\n" \
  "str r8, [sp, #48]\n" \
  "str r11, [sp, #52]\n"
#define NEXT_CHANNEL \
  "4:\n" /* the next channel */ \
  "ldr r8, [sp, #32]\n" \
  "ldr r6, [sp, #4]\n" \
  "ldr r7, [sp, #8]\n" \
  "ldr r9, [sp, #12]\n" \
  "add r6, #4\n" \
  "add r7, #4\n" \
  "add r9, #1\n" \
  "str r6, [sp, #4]\n" \
  "str r7, [sp, #8]\n" \
  "str r9, [sp, #12]\n" \
  "subs r8, #1\n" \
  "str r8, [sp, #32]\n" \
  "bne.w 1b\n" \
  "add sp, #60\n" \
  "pop {r4-r11, pc}\n"

// Stride 1: two output rows, two columns at a time.
asm(".syntax unified\n"
    FUNCTION("conv2d_dsp_two_rows")
    BEGIN_CHANNELS
    "subs r10, #2\n"
    "blt 3f\n"

    "2:\n"  // two columns
    "str r10, [sp, #56]\n"
    "ldr r9, [sp, #36]\n"
    LOAD_FIRST("32")
    BEGIN0("r0", "r3")
    LOAD("-16")
    COLUMN0("r1", "r4") BEGIN1("r0", "r3")
    LOAD("0")
    COLUMN0("r2", "r5") COLUMN1("r1", "r4")
    LOAD("16")
    COLUMN1("r2", "r5")
    "ldr r10, [sp, #40]\n"
    "ldr r11, [sp, #44]\n"
    "smmla r6, r6, r10, r11\n"
    "smmla r7, r7, r10, r11\n"
    "smmla r8, r8, r10, r11\n"
    "smmla r9, r9, r10, r11\n"
    "ldr r11, [sp, #48]\n"
    "ldr r10, [sp, #52]\n"
    "asr r6, r6, r11\n"
    "asr r7, r7, r11\n"
    "asr r8, r8, r11\n"
    "asr r9, r9, r11\n"
    "ldr r11, [sp, #16]\n"
    "ssat r6, #8, r6, asr #1\n"
    "ssat r7, #8, r7, asr #1\n"
    "ssat r8, #8, r8, asr #1\n"
    "ssat r9, #8, r9, asr #1\n"
    "strb r7, [r10, r11]\n"
    "strb r6, [r10]\n"
    "ldr r6, [sp, #20]\n"
    "add r10, r6\n"
    "strb r9, [r10, r11]\n"
    "strb r8, [r10]\n"
    "add r10, r6\n"
    "str r10, [sp, #52]\n"
    "ldr r10, [sp, #56]\n"
    "subs r10, #2\n"
    "bge.w 2b\n"

    "3:\n"  // one column more?
    "adds r10, #1\n"
    "bne 4f\n"
    "ldr r9, [sp, #36]\n"
    LOAD("0")
    BEGIN0("r0", "r3")
    LOAD("16")
    COLUMN0("r1", "r4")
    LOAD("32")
    COLUMN0("r2", "r5")
    "ldr r8, [sp, #40]\n"
    "ldr r9, [sp, #44]\n"
    "ldr r12, [sp, #48]\n"
    "ldr r10, [sp, #52]\n"
    "ldr r11, [sp, #16]\n"
    "smmla r6, r6, r8, r9\n"
    "smmla r7, r7, r8, r9\n"
    "asr r6, r6, r12\n"
    "asr r7, r7, r12\n"
    "ssat r6, #8, r6, asr #1\n"
    "ssat r7, #8, r7, asr #1\n"
    "strb r7, [r10, r11]\n"
    "strb r6, [r10]\n"

    NEXT_CHANNEL
    END("conv2d_dsp_two_rows"));

// Stride 2: one output row, two columns at a time; r6 and r8 their sums, r7 the columns left, r9 y.
#define UPPER_ONTO(sum, upper, first, last)   \
  "smlad " upper ", r10, " first ", " sum "\n" \
  "smlabt " upper ", r11, " last ", " upper "\n"
#define UPPER(upper, ...) UPPER_ONTO(upper, upper, __VA_ARGS__)
asm(".syntax unified\n"
    FUNCTION("conv2d_dsp_one_row")
    BEGIN_CHANNELS
    "mov r9, r11\n"
    "subs r7, r10, #2\n"
    "blt 3f\n"

    "2:\n"  // two columns
    "ldr r8, [sp, #36]\n"
    LOAD_FIRST("64")
    UPPER_ONTO("r8", "r6", "r0", "r3")
    LOAD("-48")
    UPPER("r6", "r1", "r4")
    LOAD("-32")
    UPPER("r6", "r2", "r5") UPPER("r8", "r0", "r3")
    LOAD("-16")
    UPPER("r8", "r1", "r4")
    LOAD("0")
    UPPER("r8", "r2", "r5")
    "ldr r10, [sp, #40]\n"
    "ldr r11, [sp, #44]\n"
    "smmla r6, r6, r10, r11\n"
    "smmla r8, r8, r10, r11\n"
    "ldr r10, [sp, #48]\n"
    "ldr r11, [sp, #20]\n"
    "asr r6, r6, r10\n"
    "asr r8, r8, r10\n"
    "ssat r6, #8, r6, asr #1\n"
    "ssat r8, #8, r8, asr #1\n"
    "strb r6, [r9]\n"
    "strb r8, [r9, r11]\n"
    "add r9, r9, r11, lsl #1\n"
    "subs r7, #2\n"
    "bge.w 2b\n"

    "3:\n"  // one column more?
    "adds r7, #1\n"
    "bne 4f\n"
    "ldr r6, [sp, #36]\n"
    LOAD("0")
    UPPER("r6", "r0", "r3")
    LOAD("16")
    UPPER("r6", "r1", "r4")
    LOAD("32")
    UPPER("r6", "r2", "r5")
    "ldr r10, [sp, #40]\n"
    "ldr r11, [sp, #44]\n"
    "ldr r7, [sp, #48]\n"
    "smmla r6, r6, r10, r11\n"
    "asr r6, r6, r7\n"
    "ssat r6, #8, r6, asr #1\n"
    "strb r6, [r9]\n"
    NEXT_CHANNEL
    END("conv2d_dsp_one_row"));
// clang-format on
#undef LOAD
#undef LOAD_FIRST
#undef COLUMN_ONTO
#undef COLUMN
#undef BEGIN0
#undef BEGIN1
#undef UPPER_ONTO
#undef UPPER
#undef COLUMN0
#undef COLUMN1
#undef FUNCTION
#undef END
#undef BEGIN_CHANNELS
#undef NEXT_CHANNEL

#else

namespace corten {

extern "C" void conv2d_dsp_two_rows(const RowPairs* rows) {
  for (int32_t c = 0; c < rows->channels; c++) {
    const Depthwise3x3& w = rows->weights[c];
    const int32_t addend = dsp_addend(rows->twice_zero, w.scale.word);
    const uint32_t *p = rows->p + c, *q = rows->q + c;
    int8_t* y = rows->y + c;
    for (int32_t i = 0; i < rows->columns; i++, p += kDepthwiseGroup, q += kDepthwiseGroup, y += rows->stride) {
      int32_t upper = dsp_bias(w.scale.word), lower = upper;
      for (int32_t s = 0; s < 3; s++) {
        const uint32_t first = sxtb16(w.column[s]), last = sxtb16_ror8(w.column[s]);
        const uint32_t a = p[s * kDepthwiseGroup], b = q[s * kDepthwiseGroup];
        upper = smlabt(b, last, smlad(a, first, upper)), lower = smlad(b, last, smlatb(a, first, lower));
      }
      y[rows->down] = dsp_requantise(lower, w.scale.mult, addend, w.scale.word);
      y[0] = dsp_requantise(upper, w.scale.mult, addend, w.scale.word);
    }
  }
}

extern "C" void conv2d_dsp_one_row(const RowPairs* rows) {
  for (int32_t c = 0; c < rows->channels; c++) {
    const Depthwise3x3& w = rows->weights[c];
    const int32_t addend = dsp_addend(rows->twice_zero, w.scale.word);
    const uint32_t *p = rows->p + c, *q = rows->q + c;
    int8_t* y = rows->y + c;
    for (int32_t i = 0; i < rows->columns; i++, p += 2 * kDepthwiseGroup, q += 2 * kDepthwiseGroup, y += rows->stride) {
      int32_t sum = dsp_bias(w.scale.word);
      for (int32_t s = 0; s < 3; s++) {
        sum = smlad(p[s * kDepthwiseGroup], sxtb16(w.column[s]), sum);
        sum = smlabt(q[s * kDepthwiseGroup], sxtb16_ror8(w.column[s]), sum);
      }
      y[0] = dsp_requantise(sum, w.scale.mult, addend, w.scale.word);
    }
  }
}

}  // namespace corten

#endif
