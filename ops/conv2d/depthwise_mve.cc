// Depthwise on MVE with any number of taps, which lie in one run, 16 bytes apart; an even number, the last weight may be zero.
#include "ops/conv2d/mve_depthwise.h"

namespace corten {
namespace {

// In a half of the lanes, `mul` is vmullb or vmullt; sums in registers s0 and s1. A pair's products are in c and b; they are added
// and widened while the next pair is loaded and multiplied.
#define PAIRS(mul, s0, s1, a, b, c, d)        \
  "wls lr, %[more], 3f\n"                     \
  "2:\n"                                      \
  "vadd.i16 " a ", " c ", " b "\n"            \
  "vldrb.8 " c ", [%[x]], #16\n"              \
  "vmovlb.s16 " b ", " a "\n"                 \
  "vldrb.8 " d ", [%[w]], #16\n"              \
  mul " " c ", " c ", " d "\n"                \
  "vmovlt.s16 " a ", " a "\n"                 \
  "vldrb.8 " d ", [%[x]], #16\n"              \
  "vadd.i32 " s1 ", " s1 ", " a "\n"          \
  "vldrb.8 q7, [%[w]], #16\n"                 \
  "vadd.i32 " s0 ", " s0 ", " b "\n"          \
  mul " " b ", " d ", q7\n"                   \
  "le lr, 2b\n"                               \
  "3:\n"
// Ends a half: widens the last pair, in c and b, then makes s0 and s1 into eight int16, zero point added, in s0. Meanwhile the next
// half's first pair goes to nc and nb. m, h: table offsets of multipliers and shifts; `between` fills a gap.
#define TURN(mul, s0, s1, c, b, nc, nb, back, m0, h0, m1, h1, between, next_bias1) \
  "sub %[x], %[" back "]\n"                   \
  "vadd.i16 " c ", " c ", " b "\n"            \
  "sub %[w], %[bytes]\n"                      \
  "vldrb.8 " nc ", [%[x]], #16\n"             \
  "vmovlb.s16 " b ", " c "\n"                 \
  "vldrb.8 " nb ", [%[w]], #16\n"             \
  "vmovlt.s16 " c ", " c "\n"                 \
  mul " " nc ", " nc ", " nb "\n"             \
  "vldrw.32 q7, [%[t], #" m0 "]\n"            \
  "vadd.i32 " s0 ", " s0 ", " b "\n"          \
  "vqdmulh.s32 " s0 ", " s0 ", q7\n"          \
  "vldrw.32 " b ", [%[t], #" m1 "]\n"         \
  "vadd.i32 " s1 ", " s1 ", " c "\n"          \
  "vqdmulh.s32 " s1 ", " s1 ", " b "\n"       \
  "vldrw.32 q7, [%[t], #" h0 "]\n"            \
  "vrshl.s32 " s0 ", " s0 ", q7\n"            \
  "vldrw.32 " c ", [%[t], #" h1 "]\n"         \
  "vrshl.s32 " s1 ", " s1 ", " c "\n"         \
  "vldrb.8 " nb ", [%[x]], #16\n"             \
  "vqmovnb.s32 " s0 ", " s0 "\n"              \
  "vldrb.8 q7, [%[w]], #16\n"                 \
  "vqmovnt.s32 " s0 ", " s1 "\n"              \
  mul " " nb ", " nb ", q7\n"                 \
  "vldrw.32 " s1 ", [%[t], #" next_bias1 "]\n" between \
  "vqadd.s16 " s0 ", " s0 ", %[zero]\n"

// `back` leads from the end of an output's taps to the beginning of the next one's, whose first pair is read even after the last.
__attribute__((noinline)) void run_any(const MveBlock& b, uint32_t pairs, const int8_t* x, int8_t* o, const MveSpan& s) {
  const int8_t* w = b.weights;
  int32_t count = s.count;
  asm volatile(
      "ldr lr, [%[span], #12]\n"
      "vctp.8 lr\n"
      "vldrb.8 q5, [%[x]], #16\n"
      "vldrb.8 q6, [%[w]], #16\n"
      "vmullb.s8 q5, q5, q6\n"
      "vldrb.8 q4, [%[x]], #16\n"
      "vldrb.8 q6, [%[w]], #16\n"
      "vmullb.s8 q4, q4, q6\n"
      "vldrw.32 q0, [%[t]]\n"
      "vldrw.32 q1, [%[t], #16]\n"
      "1:\n" CORTEN_CALL(PAIRS, CORTEN_EVEN, "q3", "q4", "q5", "q6")
      TURN("vmullt.s8", "q0", "q1", "q5", "q4", "q3", "q6", "bytes", "64", "80", "96", "112", "vldrw.32 q2, [%[t], #32]\n", "48")
      CORTEN_CALL(PAIRS, CORTEN_ODD, "q5", "q6", "q3", "q4")
      TURN("vmullb.s8", "q2", "q1", "q3", "q6", "q5", "q4", "back", "128", "144", "160", "176", "vqmovnb.s16 q0, q0\n", "16")
      "subs %[count], #1\n"
      "vqmovnt.s16 q0, q2\n"
      "vpst\n"
      "vstrbt.8 q0, [%[o]]\n"
      "add %[o], %[o_step]\n"
      "vldrw.32 q0, [%[t]]\n"
      "bgt 1b\n"
      : [x] "+r"(x), [w] "+r"(w), [o] "+r"(o), [count] "+r"(count)
      : [t] "r"(b.tables), [zero] "r"(b.out_zero), [o_step] "r"(s.o_step), [more] "r"(pairs - 1), [bytes] "r"(pairs * 32),
        [back] "r"(int32_t(pairs * 32) - s.x_step), [span] "r"(&s)
      : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}

}  // namespace

extern "C" void conv2d_s8_mve_depthwise(const KernelArgs* a) {
  const ConvParams p = conv_turned(*static_cast<const ConvParams*>(a->params));
  const MveColumns columns = mve_columns(p);
  int8_t* band = static_cast<int8_t*>(a->scratch);
  const uint32_t pairs = conv_lanes_taps(p) / 2;
  const int32_t pitch = p.k_h * 16;
  mve_fill(band, p.in_zero, columns.count * pitch);
  mve_for_blocks(a, p, [&](const int8_t* image, int32_t lanes, const MveBlock& b, int8_t* out) {
    for (int32_t oy = 0; oy < p.out_h; oy++, out += p.out_w * p.in_c) {
      for (int32_t r = 0; r < p.k_h; r++)
        mve_gather_row(p, columns, image, oy * p.stride_h - p.pad_t + r * p.dil_h, lanes, band + r * 16, pitch);
      run_any(b, pairs, band, out, {p.stride_w * pitch, p.in_c, p.out_w, lanes});
    }
  });
}

extern "C" bool conv2d_s8_mve_depthwise_check(const CheckArgs* a) { return conv_lanes_check(a) && !conv_mve_is_3x3(conv_params(a)); }

}  // namespace corten
