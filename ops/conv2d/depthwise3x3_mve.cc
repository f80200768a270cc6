// Depthwise 3x3 on MVE: nine taps from three rows.
#include "ops/conv2d/mve_depthwise.h"

namespace corten {
namespace {

// In a half of the lanes, `mul` is vmullb or vmullt; sums in registers s0 and s1. The taps
// of a pair are loaded and multiplied while the pair before is widened: the pair before is in a and b, the new one in c and d.
#define PAIR(mul, s0, s1, a, b, c, d, x0, w0, x1, w1) \
  "vldrb.8 " c ", " x0 "\n"                           \
  "vadd.i16 " a ", " a ", " b "\n" WIDEN(mul, s0, s1, a, b, c, d, w0, x1, w1)
#define PAIR_AFTER_ONE(mul, s0, s1, a, b, c, d, x0, w0, x1, w1) "vldrb.8 " c ", " x0 "\n" WIDEN(mul, s0, s1, a, b, c, d, w0, x1, w1)
#define WIDEN(mul, s0, s1, a, b, c, d, w0, x1, w1) \
  "vldrb.8 " d ", " w0 "\n"                        \
  "vmovlb.s16 " b ", " a "\n"                      \
  mul " " c ", " c ", " d "\n"                     \
  "vldrb.8 " d ", " x1 "\n"                        \
  "vmovlt.s16 " a ", " a "\n"                      \
  "vldrb.8 q7, " w1 "\n"                           \
  "vadd.i32 " s1 ", " s1 ", " a "\n"               \
  mul " " d ", " d ", q7\n"                        \
  "vadd.i32 " s0 ", " s0 ", " b "\n"
// Ends a half: widens the last pair, then makes s0 and s1 into eight int16, zero point added, in s0. Meanwhile the first tap of the
// next half, on its own, goes to c. m, h: table offsets of multipliers and shifts; `between` fills a gap.
#define TURN(mul, s0, s1, a, b, c, d, x, w, m0, h0, m1, h1, between, next_bias1) \
  "vldrb.8 " c ", " x "\n"                                                       \
  "vadd.i16 " a ", " a ", " b "\n"                                               \
  "vldrb.8 " d ", " w "\n"                                                       \
  "vmovlb.s16 " b ", " a "\n"                                                    \
  mul " " c ", " c ", " d "\n"                                                   \
  "vmovlt.s16 " a ", " a "\n"                                                    \
  "vldrw.32 q7, [%[t], #" m0 "]\n"                                               \
  "vadd.i32 " s0 ", " s0 ", " b "\n"                                             \
  "vqdmulh.s32 " s0 ", " s0 ", q7\n"                                             \
  "vadd.i32 " s1 ", " s1 ", " a "\n"                                             \
  "vldrw.32 " b ", [%[t], #" m1 "]\n"                                            \
  "vqdmulh.s32 " s1 ", " s1 ", " b "\n"                                          \
  "vldrw.32 " d ", [%[t], #" h0 "]\n"                                            \
  "vrshl.s32 " s0 ", " s0 ", " d "\n"                                            \
  "vldrw.32 " a ", [%[t], #" h1 "]\n"                                            \
  "vrshl.s32 " s1 ", " s1 ", " a "\n" between                                    \
  "vqmovnb.s32 " s0 ", " s0 "\n"                                                 \
  "vqmovnt.s32 " s0 ", " s1 "\n"                                                 \
  "vldrw.32 " s1 ", [%[t], #" next_bias1 "]\n"                                   \
  "vqadd.s16 " s0 ", " s0 ", %[zero]\n"

#define X(row, column) "[%[x" #row "], #" column "]"
#define W(tap) "[%[w], #" #tap "*16-64]"
// The eight taps after the first.
#define TAPS_3X3(half, c1, c2, a, b, c, d)                                    \
  CORTEN_CALL(PAIR_AFTER_ONE, half, a, b, c, d, X(0, c1), W(1), X(0, c2), W(2))      \
  CORTEN_CALL(PAIR, half, c, d, a, b, X(1, "0"), W(3), X(1, c1), W(4))               \
  CORTEN_CALL(PAIR, half, a, b, c, d, X(1, c2), W(5), X(2, "0"), W(6))               \
  CORTEN_CALL(PAIR, half, c, d, a, b, X(2, c1), W(7), X(2, c2), W(8))

// A row of outputs from three rows of inputs whose columns are c1 bytes apart (c2 = 2 * c1); count >= 1. The first tap of one
// output more is read.
#define ROW_3X3(c1, c2)                                                                                                        \
  asm volatile("ldr lr, [%[span], #12]\n"                                                                                     \
               "vctp.8 lr\n"                                                                                             \
               "vldrb.8 q3, [%[x0]]\n"                                                                                         \
               "vldrb.8 q4, " W(0) "\n"                                                                                        \
               "vldrw.32 q0, [%[t]]\n"                                                                                         \
               "vldrw.32 q1, [%[t], #16]\n"                                                                                    \
               "vmullb.s8 q3, q3, q4\n"                                                                                        \
               "ldr lr, [%[span], #8]\n"                                                                                       \
               "dls lr, lr\n"                                                                                                  \
               "1:\n" TAPS_3X3(CORTEN_EVEN, c1, c2, "q3", "q4", "q5", "q6")                                                           \
               TURN("vmullt.s8", "q0", "q1", "q3", "q4", "q5", "q6", X(0, "0"), W(0), "64", "80", "96", "112",                 \
                    "vldrw.32 q2, [%[t], #32]\n", "48")                                                                        \
               TAPS_3X3(CORTEN_ODD, c1, c2, "q5", "q6", "q3", "q4")                                                                   \
               "add %[x0], %[x_step]\n"                                                                                        \
               TURN("vmullb.s8", "q2", "q1", "q5", "q6", "q3", "q4", X(0, "0"), W(0), "128", "144", "160", "176",              \
                    "add %[x1], %[x_step]\n add %[x2], %[x_step]\n", "16")                                                     \
               "vqmovnb.s16 q0, q0\n"                                                                                          \
               "vqmovnt.s16 q0, q2\n"                                                                                          \
               "vpst\n"                                                                                                        \
               "vstrbt.8 q0, [%[o]]\n"                                                                                         \
               "add %[o], %[o_step]\n"                                                                                         \
               "vldrw.32 q0, [%[t]]\n"                                                                                         \
               "le lr, 1b\n"                                                                                                   \
               : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [o] "+r"(o)                                                      \
               : [w] "r"(b.weights + 64), [t] "r"(b.tables), [zero] "r"(b.out_zero), [x_step] "r"(s.x_step),                   \
                 [o_step] "r"(s.o_step), [span] "r"(&s)                                                                        \
               : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory")

// The three rows that the next output row needs; row i (padding counted) takes place i % 3. Padding columns are there already.
struct Ring {
  int8_t* rows;
  int32_t pitch, next;  // next: the first row not there yet
  const int8_t *x0, *x1, *x2;

  void advance(const ConvParams& p, const MveColumns& columns, const int8_t* image, int32_t top, int32_t lanes, int32_t column) {
    int32_t place = top % 3;
    int8_t* row[3];
    for (int32_t i = 0; i < 3; i++) {
      row[i] = rows + place * pitch, place = place == 2 ? 0 : place + 1;
      if (top + i >= next) mve_gather_row(p, columns, image, top + i - p.pad_t, lanes, row[i], column);
    }
    next = top + 3, x0 = row[0], x1 = row[1], x2 = row[2];
  }
};

// One image, one block of channels.
__attribute__((noinline)) void image_of_16(const ConvParams& p, const MveBlock& b, const int8_t* image, int32_t lanes, int8_t* rows, int8_t* out) {
  const MveColumns columns = mve_columns(p);
  const MveSpan s = {16 * p.stride_w, p.in_c, p.out_w, lanes};
  Ring ring = {rows, columns.count * 16, 0, nullptr, nullptr, nullptr};
  for (int32_t oy = 0; oy < p.out_h; oy++, out += p.out_w * p.in_c) {
    ring.advance(p, columns, image, oy * p.stride_h, lanes, 16);
    const int8_t *x0 = ring.x0, *x1 = ring.x1, *x2 = ring.x2;
    int8_t* o = out;
    ROW_3X3("16", "32");
  }
}

__attribute__((noinline)) void row_of_8(const MveBlock& b, const int8_t* x0, const int8_t* x1, const int8_t* x2, int8_t* o, const MveSpan& s) {
  ROW_3X3("8", "16");
}

// One image of 8 channels, two pixels at a time, the last on its own if they are odd.
void image_of_8(const ConvParams& p, const MveBlock& b, const int8_t* image, int8_t* rows, int8_t* out) {
  const MveColumns columns = mve_columns(p);
  const int32_t pairs = p.out_w / 2, done = pairs * 16;
  Ring ring = {rows, columns.count * 8, 0, nullptr, nullptr, nullptr};
  for (int32_t oy = 0; oy < p.out_h; oy++, out += p.out_w * 8) {
    ring.advance(p, columns, image, oy * p.stride_h, 8, 8);
    if (pairs) row_of_8(b, ring.x0, ring.x1, ring.x2, out, {16, 16, pairs, 16});
    if (p.out_w % 2) row_of_8(b, ring.x0 + done, ring.x1 + done, ring.x2 + done, out + done, {16, 16, 1, 8});
  }
}

}  // namespace

extern "C" void conv2d_s8_mve_depthwise3x3(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  int8_t* rows = static_cast<int8_t*>(a->scratch);
  mve_fill(rows, p.in_zero, mve_columns(p).count * 48);
  mve_for_blocks(a, p, [&](const int8_t* image, int32_t lanes, const MveBlock& b, int8_t* out) { image_of_16(p, b, image, lanes, rows, out); });
}

extern "C" bool conv2d_s8_mve_depthwise3x3_check(const CheckArgs* a) {
  return conv_lanes_check(a) && conv_mve_is_3x3(conv_params(a)) && !conv_mve_two_pixels(conv_params(a));
}

extern "C" void conv2d_s8_mve_depthwise3x3_of8(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  int8_t* rows = static_cast<int8_t*>(a->scratch);
  mve_fill(rows, p.in_zero, mve_columns(p).count * 24);
  mve_for_blocks(a, p, [&](const int8_t* image, int32_t, const MveBlock& b, int8_t* out) { image_of_8(p, b, image, rows, out); });
}

extern "C" bool conv2d_s8_mve_depthwise3x3_of8_check(const CheckArgs* a) {
  return conv_lanes_check(a) && conv_mve_two_pixels(conv_params(a));
}

}  // namespace corten
