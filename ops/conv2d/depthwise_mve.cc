// Depthwise conv2d on MVE: 16 channels at a time. A tap multiplies into int16 (even and odd lanes apart); two taps fit into int16
// because no weight is -128, then the sum is widened. Assembly, because GCC spills the eight registers and does not interleave.
#include "ops/conv2d/pack_mve_depthwise.h"
#include "runtime/kernel.h"
#include "runtime/mve.h"

namespace corten {
namespace {

// One half: `mul` is vmullb (even lanes) or vmullt (odd lanes). Sums in registers s0 and s1, started at the biases. The taps of a
// pair are loaded and multiplied while the pair before is widened: registers a, b are the pair's before, c, d the new one's.
#define PAIR(mul, s0, s1, a, b, c, d, x0, w0, x1, w1) \
  "vldrb.8 " c ", " x0 "\n"                           \
  "vadd.i16 " a ", " a ", " b "\n" WIDEN(mul, s0, s1, a, b, c, d, w0, x1, w1)
#define PAIR_AFTER_ONE(mul, s0, s1, a, b, c, d, x0, w0, x1, w1) "vldrb.8 " c ", " x0 "\n" WIDEN(mul, s0, s1, a, b, c, d, w0, x1, w1)
#define WIDEN(mul, s0, s1, a, b, c, d, w0, x1, w1) \
  "vldrb.8 " d ", " w0 "\n"                        \
  "vmovlb.s16 " b ", " a "\n" mul " " c ", " c ", " d "\n" \
  "vldrb.8 " d ", " x1 "\n"                        \
  "vmovlt.s16 " a ", " a "\n"                      \
  "vldrb.8 q7, " w1 "\n"                           \
  "vadd.i32 " s1 ", " s1 ", " a "\n" mul " " d ", " d ", q7\n" \
  "vadd.i32 " s0 ", " s0 ", " b "\n"
// A half begins with one tap on its own; with an even number of taps that one is a pair.
#define ONE(mul, s0, s1, c, x0, w0, bias0, bias1) \
  "vldrb.8 " c ", " x0 "\n"                       \
  "vldrb.8 q7, " w0 "\n"                          \
  "vldrw.32 " s0 ", [%[t], #" bias0 "]\n" mul " " c ", " c ", q7\n" \
  "vldrw.32 " s1 ", [%[t], #" bias1 "]\n"
// Widens the last pair, then makes s0 and s1 into eight int16 with the zero point added, in s0.
#define END(s0, s1, a, b, m0, h0, m1, h1) \
  "vadd.i16 " a ", " a ", " b "\n"        \
  "vldrw.32 q7, [%[t], #" m0 "]\n"        \
  "vmovlb.s16 " b ", " a "\n"             \
  "vmovlt.s16 " a ", " a "\n"             \
  "vadd.i32 " s0 ", " s0 ", " b "\n"      \
  "vldrw.32 " b ", [%[t], #" h0 "]\n"     \
  "vqdmulh.s32 " s0 ", " s0 ", q7\n"      \
  "vadd.i32 " s1 ", " s1 ", " a "\n"      \
  "vldrw.32 q7, [%[t], #" m1 "]\n"        \
  "vrshl.s32 " s0 ", " s0 ", " b "\n"     \
  "vqdmulh.s32 " s1 ", " s1 ", q7\n"      \
  "vldrw.32 " a ", [%[t], #" h1 "]\n"     \
  "vqmovnb.s32 " s0 ", " s0 "\n"          \
  "vrshl.s32 " s1 ", " s1 ", " a "\n"     \
  "vqmovnt.s32 " s0 ", " s1 "\n"          \
  "vqadd.s16 " s0 ", " s0 ", %[zero]\n"
// Even lanes end in q0, odd ones in q1.
#define EVEN "vmullb.s8", "q0", "q1"
#define ODD "vmullt.s8", "q1", "q2"
#define STORE                   \
  "vqmovnb.s16 q0, q0\n"        \
  "vqmovnt.s16 q0, q1\n"        \
  "vpst\n"                      \
  "vstrbt.8 q0, [%[o]]\n"       \
  "add %[o], %[o], %[o_step]\n"

// Expands a macro whose first three arguments are EVEN or ODD.
#define CALL(macro, ...) macro(__VA_ARGS__)
#define X(row, column) "[%[x" #row "], #" column "]"
#define W(tap) "[%[w], #" #tap "*16-64]"
#define HALF_3X3(half, c1, c2, a, b, c, d, b0, b1, m0, h0, m1, h1, s0, s1)                        \
  CALL(ONE, half, a, X(0, "0"), W(0), b0, b1)                                                     \
  CALL(PAIR_AFTER_ONE, half, a, b, c, d, X(0, c1), W(1), X(0, c2), W(2))                          \
  CALL(PAIR, half, c, d, a, b, X(1, "0"), W(3), X(1, c1), W(4))                                   \
  CALL(PAIR, half, a, b, c, d, X(1, c2), W(5), X(2, "0"), W(6))                                   \
  CALL(PAIR, half, c, d, a, b, X(2, c1), W(7), X(2, c2), W(8)) END(s0, s1, a, b, m0, h0, m1, h1)

struct Block {
  const int8_t* weights;
  const int32_t* tables;
  int32_t out_zero;
};
// `count` outputs of `lanes` bytes.
struct Span {
  int32_t x_step, o_step, count, lanes;
};

#define ASM_3X3(c1, c2)                                                                                                       \
  asm volatile("vctp.8 %[lanes]\n dls lr, %[count]\n 1:\n"                                                                    \
               HALF_3X3(EVEN, c1, c2, "q3", "q4", "q5", "q6", "0", "16", "64", "80", "96", "112", "q0", "q1")                 \
               HALF_3X3(ODD, c1, c2, "q3", "q4", "q5", "q6", "32", "48", "128", "144", "160", "176", "q1", "q2")              \
               "add %[x0], %[x0], %[x_step]\n add %[x1], %[x1], %[x_step]\n add %[x2], %[x2], %[x_step]\n" STORE "le lr, 1b\n"  \
               : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [o] "+r"(o)                                                     \
               : [w] "r"(b.weights + 64), [t] "r"(b.tables), [zero] "r"(b.out_zero), [x_step] "r"(s.x_step),                  \
                 [o_step] "r"(s.o_step), [count] "r"(s.count), [lanes] "r"(s.lanes)                                           \
               : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory")

// kColumn: bytes from one column to the next.
template <int kColumn>
__attribute__((noinline)) void run_3x3(const Block& b, const int8_t* x0, const int8_t* x1, const int8_t* x2, int8_t* o, const Span& s) {
  if (s.count <= 0) return;
  if constexpr (kColumn == 16)
    ASM_3X3("16", "32");
  else
    ASM_3X3("8", "16");
}

// Any number of taps, in one run 16 bytes apart, two at a time; the names as in PAIR, but a pair's products are in c and b.
#define HALF_ANY(mul, s0, s1, b0, b1, m0, h0, m1, h1)                                                       \
  "vldrb.8 q5, [%[x]], #16\n vldrb.8 q6, [%[w]], #16\n " mul " q5, q5, q6\n vldrb.8 q6, [%[x]], #16\n"       \
  "vldrw.32 " s0 ", [%[t], #" b0 "]\n vldrb.8 q7, [%[w]], #16\n " mul " q4, q6, q7\n"                         \
  "vldrw.32 " s1 ", [%[t], #" b1 "]\n wls lr, %[more], 3f\n 2:\n"                                            \
  "vadd.i16 q3, q5, q4\n vldrb.8 q5, [%[x]], #16\n vmovlb.s16 q4, q3\n vldrb.8 q6, [%[w]], #16\n"            \
  mul " q5, q5, q6\n vmovlt.s16 q3, q3\n vldrb.8 q6, [%[x]], #16\n vadd.i32 " s1 ", " s1 ", q3\n"            \
  "vldrb.8 q7, [%[w]], #16\n vadd.i32 " s0 ", " s0 ", q4\n " mul " q4, q6, q7\n le lr, 2b\n 3:\n"             \
  "sub %[x], %[x], %[bytes]\n sub %[w], %[w], %[bytes]\n" END(s0, s1, "q5", "q4", m0, h0, m1, h1)

__attribute__((noinline)) void run_any(const Block& b, uint32_t pairs, const int8_t* x, int8_t* o, const Span& s) {
  const int8_t* w = b.weights;
  int32_t count = s.count;
  asm volatile("vctp.8 %[lanes]\n 1:\n" CALL(HALF_ANY, EVEN, "0", "16", "64", "80", "96", "112")
               CALL(HALF_ANY, ODD, "32", "48", "128", "144", "160", "176")
               "add %[x], %[x], %[x_step]\n" STORE "subs %[count], #1\n bgt 1b\n"
               : [x] "+r"(x), [w] "+r"(w), [o] "+r"(o), [count] "+r"(count)
               : [t] "r"(b.tables), [zero] "r"(b.out_zero), [x_step] "r"(s.x_step), [o_step] "r"(s.o_step), [lanes] "r"(s.lanes),
                 [more] "r"(pairs - 1), [bytes] "r"(pairs * 32)
               : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}

int32_t columns_of(const ConvParams& p) { return (p.out_w - 1) * p.stride_w + p.k_w; }
int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

// The columns of row iy that one output row needs, `lanes` bytes of each from `image` on, to `to`, `pitch` bytes apart.
void gather_row(const ConvParams& p, const int8_t* image, int32_t iy, int32_t lanes, int8_t* to, int32_t pitch) {
  const int32_t columns = columns_of(p), left = least(p.pad_l, columns);
  const int32_t inside = iy >= 0 && iy < p.in_h ? least(p.in_w, columns - left) : 0;
  const int8x16_t padding = vdupq_n_s8(p.in_zero);
  const mve_pred16_t used = vctp8q(uint32_t(lanes));
  int32_t i = 0;
  for (; i < left; i++, to += pitch) vst1q_s8(to, padding);
  const int8_t* from = image + iy * p.in_w * p.in_c;
  for (; i < left + inside; i++, to += pitch, from += p.in_c) vst1q_s8(to, vld1q_z_s8(from, used));
  for (; i < columns; i++, to += pitch) vst1q_s8(to, padding);
}

// The same of 8 channels, the columns packed.
void gather_row_of_8(const ConvParams& p, const int8_t* image, int32_t iy, int8_t* to) {
  const int32_t columns = columns_of(p), left = least(p.pad_l, columns);
  const int32_t inside = iy >= 0 && iy < p.in_h ? least(p.in_w, columns - left) : 0;
  mve_fill(to, p.in_zero, left * 8);
  mve_copy(to + left * 8, image + iy * p.in_w * 8, inside * 8);
  mve_fill(to + (left + inside) * 8, p.in_zero, (columns - left - inside) * 8);
}

Block block_of(const KernelArgs* a, const ConvParams& p, int32_t index) {
  const int32_t taps = int32_t(conv_lanes_taps(p));
  return {at<int8_t>(a, p.weights) + index * taps * 16, at<int32_t>(a, p.tables) + index * 48, p.out_zero};
}

// One image, one block of channels; `ring` holds the three rows that the next output row needs, row i (padding counted) at i % 3.
void image_3x3(const ConvParams& p, const Block& block, const int8_t* image, int32_t lanes, int8_t* ring, int8_t* out) {
  const bool two_pixels = conv_mve_two_pixels(p);
  const int32_t pitch = columns_of(p) * (two_pixels ? 8 : 16);
  const int32_t pixels = two_pixels ? p.out_w / 2 : p.out_w;
  const Span span = {two_pixels ? 16 : 16 * p.stride_w, two_pixels ? 16 : p.in_c, pixels, two_pixels ? 16 : lanes};
  int32_t next = 0;
  for (int32_t oy = 0; oy < p.out_h; oy++, out += p.out_w * p.in_c) {
    const int32_t top = oy * p.stride_h;
    for (next = next > top ? next : top; next < top + 3; next++) {
      int8_t* to = ring + next % 3 * pitch;
      if (two_pixels)
        gather_row_of_8(p, image, next - p.pad_t, to);
      else
        gather_row(p, image, next - p.pad_t, lanes, to, 16);
    }
    const int8_t *x0 = ring + top % 3 * pitch, *x1 = ring + (top + 1) % 3 * pitch, *x2 = ring + (top + 2) % 3 * pitch;
    if (two_pixels) {
      const int32_t done = pixels * 16;
      run_3x3<8>(block, x0, x1, x2, out, span);
      run_3x3<8>(block, x0 + done, x1 + done, x2 + done, out + done, {0, 0, p.out_w % 2, 8});
    } else {
      run_3x3<16>(block, x0, x1, x2, out, span);
    }
  }
}

// Runs `one_image(image, lanes, block, out)` for each image and block of channels.
template <class F>
void for_blocks(const KernelArgs* a, const ConvParams& p, F one_image) {
  const int8_t* image = static_cast<const int8_t*>(a->operand[0]);
  int8_t* const all = static_cast<int8_t*>(a->operand[1]);
  int8_t* out = all;
  for (int32_t n = 0; n < p.n; n++, image += p.in_h * p.in_w * p.in_c, out += p.out_h * p.out_w * p.out_c)
    for (int32_t c = 0; c < p.in_c; c += 16) one_image(image + c, least(p.in_c - c, 16), block_of(a, p, c / 16), out + c);
  mve_clamp(all, p.n * p.out_h * p.out_w * p.out_c, p.lo, p.hi);
}

}  // namespace

extern "C" void conv2d_s8_mve_depthwise3x3(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  for_blocks(a, p, [&](const int8_t* image, int32_t lanes, const Block& block, int8_t* out) {
    image_3x3(p, block, image, lanes, static_cast<int8_t*>(a->scratch), out);
  });
}

extern "C" bool conv2d_s8_mve_depthwise3x3_check(const CheckArgs* a) {
  return conv_check(a, conv_lanes_weights, conv_lanes_tables, 0) && conv_mve_depthwise(conv_params(a)) &&
         conv_mve_is_3x3(conv_params(a)) && a->scratch_bytes >= conv_lanes_scratch(conv_params(a));
}

extern "C" void conv2d_s8_mve_depthwise(const KernelArgs* a) {
  const ConvParams p = conv_turned(*static_cast<const ConvParams*>(a->params));
  int8_t* band = static_cast<int8_t*>(a->scratch);
  const uint32_t pairs = conv_lanes_taps(p) / 2;
  const int32_t pitch = p.k_h * 16;
  for_blocks(a, p, [&](const int8_t* image, int32_t lanes, const Block& block, int8_t* out) {
    for (int32_t oy = 0; oy < p.out_h; oy++, out += p.out_w * p.in_c) {
      for (int32_t r = 0; r < p.k_h; r++)
        gather_row(p, image, oy * p.stride_h - p.pad_t + r * p.dil_h, lanes, band + r * 16, pitch);
      run_any(block, pairs, band, out, {p.stride_w * pitch, p.in_c, p.out_w, lanes});
    }
  });
}

extern "C" bool conv2d_s8_mve_depthwise_check(const CheckArgs* a) {
  return conv_check(a, conv_lanes_weights, conv_lanes_tables, 0) && conv_mve_depthwise(conv_params(a)) &&
         !conv_mve_is_3x3(conv_params(a)) && a->scratch_bytes >= conv_lanes_scratch(conv_params(a));
}

}  // namespace corten
