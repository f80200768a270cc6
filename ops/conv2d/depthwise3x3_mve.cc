// Depthwise 3x3 on MVE: nine taps from three rows.
#include "ops/conv2d/mve_depthwise.h"

namespace corten {
namespace {

// (clang-format would move the backslashes at every run.)
// clang-format off
// A pair of taps into the sums s0 and s1 of a half of the lanes: loaded and multiplied while the pair before is widened. The pair
// before is in a and b, the new one goes to c and d. After the first tap, which is alone, there is nothing to add.
#define PAIR(half, s0, s1, a, b, c, d, x0, w0, x1, w1) \
  MVE_LOAD(c, x0) MVE_ADD16(a, a, b) REST_OF_PAIR(half, s0, s1, a, b, c, d, w0, x1, w1)
#define PAIR_AFTER_ONE(half, s0, s1, a, b, c, d, x0, w0, x1, w1) MVE_LOAD(c, x0) REST_OF_PAIR(half, s0, s1, a, b, c, d, w0, x1, w1)
#define REST_OF_PAIR(half, s0, s1, a, b, c, d, w0, x1, w1) \
  MVE_LOAD(d, w0)                                          \
  MVE_WIDEN("b", b, a)                                     \
  MVE_MUL(half, c, c, d)                                   \
  MVE_LOAD(d, x1) MVE_WIDEN("t", a, a) MVE_LOAD("q7", w1) MVE_ADD32(s1, a) MVE_MUL(half, d, d, "q7") MVE_ADD32(s0, b)

// Ends a half: widens the last pair, then makes s0 and s1 into eight int16, zero point added, in s0. Meanwhile the first tap of the
// other half goes to c. m, h: table offsets of multipliers and shifts; `between` fills a gap; the other half's s1 gets its bias.
#define TURN(other, s0, s1, a, b, c, d, x, w, m0, h0, m1, h1, between, bias1)                                                \
  MVE_LOAD(c, x)                                                                                                             \
  MVE_ADD16(a, a, b)                                                                                                         \
  MVE_LOAD(d, w)                                                                                                             \
  MVE_WIDEN("b", b, a)                                                                                                       \
  MVE_MUL(other, c, c, d)                                                                                                    \
  MVE_WIDEN("t", a, a)                                                                                                       \
  MVE_TABLE("q7", m0)                                                                                                        \
  MVE_ADD32(s0, b) MVE_SCALE(s0, "q7") MVE_ADD32(s1, a) MVE_TABLE(b, m1) MVE_SCALE(s1, b) MVE_SHIFTS(d, h0) MVE_SHIFT(s0, d) \
      MVE_SHIFTS(a, h1) MVE_SHIFT(s1, a) between MVE_NARROW32("b", s0, s0) MVE_NARROW32("t", s0, s1) MVE_TABLE(s1, bias1)    \
          MVE_ADD_ZERO(s0)

#define X(row, column) "[%[x" #row "], #" column "]"
#define W(tap) "[%[w], #" #tap "*16-64]"
// The eight taps after the first; columns are c1 bytes apart, c2 = 2 * c1.
#define TAPS_3X3(half, c1, c2, a, b, c, d)                                   \
  MVE_CALL(PAIR_AFTER_ONE, half, a, b, c, d, X(0, c1), W(1), X(0, c2), W(2)) \
  MVE_CALL(PAIR, half, c, d, a, b, X(1, "0"), W(3), X(1, c1), W(4))          \
  MVE_CALL(PAIR, half, a, b, c, d, X(1, c2), W(5), X(2, "0"), W(6))          \
  MVE_CALL(PAIR, half, c, d, a, b, X(2, c1), W(7), X(2, c2), W(8))
#define EVEN_3X3(c1, c2)                             \
  TAPS_3X3(MVE_EVEN, c1, c2, "q3", "q4", "q5", "q6") \
  TURN("t", "q0", "q1", "q3", "q4", "q5", "q6", X(0, "0"), W(0), "80", "64", "96", "68", MVE_TABLE("q2", "32"), "48")
#define ODD_3X3(c1, c2)                                                                                             \
  TAPS_3X3(MVE_ODD, c1, c2, "q5", "q6", "q3", "q4")                                                                 \
  "add %[x0], %[x_step]\n" TURN("b", "q2", "q1", "q5", "q6", "q3", "q4", X(0, "0"), W(0), "112", "72", "128", "76", \
                                "add %[x1], %[x_step]\n add %[x2], %[x_step]\n", "16")

// A row of outputs, one at least, from three rows of inputs. The first tap of one output more is read.
#define ROW_3X3(c1, c2) \
  asm volatile(                                                                                                  \
      "ldr lr, [%[span], #12]\n"                                                                                 \
      "vctp.8 lr\n" MVE_LOAD("q3", X(0, "0")) MVE_LOAD("q4", W(0)) MVE_TABLE("q0", "0") MVE_TABLE("q1", "16")    \
      MVE_MUL("b", "q3", "q3", "q4")                                                                             \
      "ldr lr, [%[span], #8]\n"                                                                                  \
      "dls lr, lr\n"                                                                                             \
      "1:\n" EVEN_3X3(c1, c2) ODD_3X3(c1, c2) MVE_NARROW16("b", "q0", "q0") MVE_NARROW16("t", "q0", "q2")        \
      "vpst\n"                                                                                                   \
      "vstrbt.8 q0, [%[o]]\n"                                                                                    \
      "add %[o], %[o_step]\n" MVE_TABLE("q0", "0")                                                               \
      "le lr, 1b\n"                                                                                              \
      : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [o] "+r"(o)                                                 \
      : [w] "r"(b.weights + 64), [t] "l"(b.tables), [zero] "r"(b.out_zero), [x_step] "r"(s.x_step),              \
        [o_step] "r"(s.o_step), [span] "r"(&s)                                                                   \
      : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory")
// clang-format on

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
__attribute__((noinline)) void image_of_16(const ConvParams& p, const MveBlock& b, const int8_t* image, int32_t lanes, int8_t* rows,
                                           int8_t* out) {
  const MveColumns columns = mve_columns(p);
  const MveSpan s = {16 * p.stride_w, p.in_c, p.out_w, lanes};
  Ring ring;
  ring.rows = rows, ring.pitch = columns.count * 16, ring.next = 0;
  for (int32_t oy = 0; oy < p.out_h; oy++, out += p.out_w * p.in_c) {
    ring.advance(p, columns, image, oy * p.stride_h, lanes, 16);
    const int8_t *x0 = ring.x0, *x1 = ring.x1, *x2 = ring.x2;
    int8_t* o = out;
    ROW_3X3("16", "32");
  }
}

__attribute__((noinline)) void row_of_8(const MveBlock& b, const int8_t* x0, const int8_t* x1, const int8_t* x2, int8_t* o,
                                        const MveSpan& s) {
  ROW_3X3("8", "16");
}

// One image of 8 channels, two pixels at a time, the last on its own if they are odd.
void image_of_8(const ConvParams& p, const MveBlock& b, const int8_t* image, int8_t* rows, int8_t* out) {
  const MveColumns columns = mve_columns(p);
  const int32_t pairs = p.out_w / 2, done = pairs * 16;
  Ring ring;
  ring.rows = rows, ring.pitch = columns.count * 8, ring.next = 0;
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
  mve_for_blocks(a, p, [&](const int8_t* image, int32_t lanes, const MveBlock& b, int8_t* out) {
    image_of_16(p, b, image, lanes, rows, out);
  });
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
