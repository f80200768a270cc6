// Depthwise on MVE with any number of taps, which lie in one run, 16 bytes apart; an even number, the last weight may be zero.
#include "ops/conv2d/mve_depthwise.h"
#include "runtime/fixed.h"

namespace corten {
namespace {

// All pairs of taps but the first into the sums s0 and s1 of a half of the lanes. A pair's products are in c and b; they are added
// and widened while the next pair is loaded and multiplied.
#define PAIRS(half, s0, s1, a, b, c, d) \
  "wls lr, %[more], 3f\n"                                                                                      \
  "2:\n" MVE_ADD16(a, c, b) MVE_LOAD(c, NEXT_X) MVE_WIDEN("b", b, a) MVE_LOAD(d, NEXT_W) MVE_MUL(half, c, c, d) \
  MVE_WIDEN("t", a, a) MVE_LOAD(d, NEXT_X) MVE_ADD32(s1, a) MVE_LOAD("q7", NEXT_W) MVE_ADD32(s0, b)            \
  MVE_MUL(half, b, d, "q7")                                                                                    \
  "le lr, 2b\n"                                                                                                \
  "3:\n"
#define NEXT_X "[%[x]], #16"
#define NEXT_W "[%[w]], #16"

// Ends a half: widens the last pair, in c and b, then makes s0 and s1 into eight int16, zero point added, in s0. Meanwhile the
// first pair of the other half goes to nc and nb. `back`: the way to its taps; m, h: table offsets of multipliers and shifts;
// `between` fills a gap; the other half's s1 gets its bias.
#define TURN(other, s0, s1, c, b, nc, nb, back, m0, h0, m1, h1, between, bias1)                                           \
  "sub %[x], %[" back "]\n" MVE_ADD16(c, c, b) "sub %[w], %[bytes]\n" MVE_LOAD(nc, NEXT_X) MVE_WIDEN("b", b, c)           \
      MVE_LOAD(nb, NEXT_W) MVE_WIDEN("t", c, c) MVE_MUL(other, nc, nc, nb) MVE_TABLE("q7", m0) MVE_ADD32(s0, b)           \
          MVE_SCALE(s0, "q7") MVE_TABLE(b, m1) MVE_ADD32(s1, c) MVE_SCALE(s1, b) MVE_SHIFTS("q7", h0) MVE_SHIFT(s0, "q7") \
              MVE_SHIFTS(c, h1) MVE_SHIFT(s1, c) MVE_LOAD(nb, NEXT_X) MVE_NARROW32("b", s0, s0) MVE_LOAD("q7", NEXT_W)    \
                  MVE_NARROW32("t", s0, s1) MVE_MUL(other, nb, nb, "q7") MVE_TABLE(s1, bias1) between                     \
                  MVE_ADD_ZERO(s0)

// `back` leads from the end of an output's taps to the beginning of the next one's, whose first pair is read even after the last.
__attribute__((noinline)) void run_any(const MveBlock& b, uint32_t taps, const int8_t* x, int8_t* o, const MveSpan& s) {
  const int8_t* w = b.weights;
  const uint32_t pairs = taps / 2;
  int32_t count = s.count;
  asm volatile(
      "ldr lr, [%[span], #12]\n"
      "vctp.8 lr\n" MVE_LOAD("q5", NEXT_X) MVE_LOAD("q6", NEXT_W) MVE_MUL("b", "q5", "q5", "q6")
      MVE_LOAD("q4", NEXT_X) MVE_LOAD("q6", NEXT_W) MVE_MUL("b", "q4", "q4", "q6") MVE_TABLE("q0", "0") MVE_TABLE("q1", "16")
      "1:\n" MVE_CALL(PAIRS, MVE_EVEN, "q3", "q4", "q5", "q6")
      TURN("t", "q0", "q1", "q5", "q4", "q3", "q6", "bytes", "80", "64", "96", "68", MVE_TABLE("q2", "32"), "48")
      MVE_CALL(PAIRS, MVE_ODD, "q5", "q6", "q3", "q4")
      TURN("b", "q2", "q1", "q3", "q6", "q5", "q4", "back", "112", "72", "128", "76", MVE_NARROW16("b", "q0", "q0"), "16")
      "subs %[count], #1\n" MVE_NARROW16("t", "q0", "q2")
      "vpst\n"
      "vstrbt.8 q0, [%[o]]\n"
      "add %[o], %[o_step]\n" MVE_TABLE("q0", "0")
      "bgt 1b\n"
      : [x] "+r"(x), [w] "+r"(w), [o] "+r"(o), [count] "+r"(count)
      : [t] "l"(b.tables), [zero] "r"(b.out_zero), [o_step] "r"(s.o_step), [more] "r"(pairs - 1), [bytes] "r"(pairs * 32),
        [back] "r"(int32_t(pairs * 32) - s.x_step), [span] "r"(&s)
      : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}

// The same for any weights and scales, 3x3 included, whose weights are ordered (row, column): four channels at a time, in 32 bits.
void run_wide(const MveBlock& b, uint32_t taps, const int8_t* x, int8_t* o, const MveSpan& s) {
  for (int32_t i = 0; i < s.count; i++, x += s.x_step, o += s.o_step)
    for (int32_t lane = 0; lane < s.lanes; lane += 4) {
      int32x4_t sums = vdupq_n_s32(0);
      for (uint32_t k = 0; k < taps; k++) {
        const uint32_t at = taps == 9 ? k % 3 * 3 + k / 3 : k;  // an odd number of taps is 3x3
        sums = vaddq_s32(sums, vmulq_s32(vldrbq_s32(x + at * 16 + lane), vldrbq_s32(b.weights + k * 16 + lane)));
      }
      int32_t acc[4];
      vst1q_s32(acc, sums);
      for (int32_t j = lane; j < lane + 4 && j < s.lanes; j++) {
        const int8_t* table = reinterpret_cast<const int8_t*>(b.tables);
        const int32_t bias = *reinterpret_cast<const int32_t*>(table + conv_lanes_bias_at(uint32_t(j)));
        const int32_t mult = *reinterpret_cast<const int32_t*>(table + conv_lanes_mult_at(uint32_t(j)));
        const int32_t shift = clamp(-table[conv_lanes_shift_at(uint32_t(j))], -30, 31);
        o[j] = to_int8(requantise(int32_t(uint32_t(acc[j - lane]) + uint32_t(bias)), mult, shift), b.out_zero, -128, 127);
      }
    }
}

using RowFn = void (*)(const MveBlock& b, uint32_t taps, const int8_t* x, int8_t* o, const MveSpan& s);

void depthwise(const KernelArgs* a, RowFn run) {
  const ConvParams p = conv_turned(*static_cast<const ConvParams*>(a->params));
  const MveColumns columns = mve_columns(p);
  int8_t* band = static_cast<int8_t*>(a->scratch);
  const uint32_t taps = conv_lanes_taps(p);
  const int32_t pitch = p.k_h * 16;
  mve_fill(band, p.in_zero, columns.count * pitch);
  mve_for_blocks(a, p, [&](const int8_t* image, int32_t lanes, const MveBlock& b, int8_t* out) {
    for (int32_t oy = 0; oy < p.out_h; oy++, out += p.out_w * p.in_c) {
      for (int32_t r = 0; r < p.k_h; r++)
        mve_gather_row(p, columns, image, oy * p.stride_h - p.pad_t + r * p.dil_h, lanes, band + r * 16, pitch);
      run(b, taps, band, out, {p.stride_w * pitch, p.in_c, p.out_w, lanes});
    }
  });
}

}  // namespace

extern "C" void conv2d_s8_mve_depthwise(const KernelArgs* a) { depthwise(a, run_any); }

extern "C" bool conv2d_s8_mve_depthwise_check(const CheckArgs* a) {
  return conv_lanes_check(a) && !conv_mve_is_3x3(conv_params(a));
}

extern "C" void conv2d_s8_mve_depthwise_wide(const KernelArgs* a) { depthwise(a, run_wide); }

extern "C" bool conv2d_s8_mve_depthwise_wide_check(const CheckArgs* a) {
  return conv_lanes_check(a) && a->scratch_bytes >= conv_lanes_wide_scratch(conv_params(a));
}

}  // namespace corten
