// What the MVE depthwise rows share. Both work on 16 channels at a time. A tap multiplies into int16, even and odd lanes apart; two
// taps fit into int16, because no weight is -128, then the sum is widened. Assembly, because GCC spills where eight vector
// registers are needed and does not interleave loads, multiplies and additions, which are what keeps the three units busy.
#pragma once
#include "ops/conv2d/mve_gather.h"
#include "ops/conv2d/pack_mve_depthwise.h"
#include "runtime/kernel.h"

namespace corten {

// The constants of 16 channels.
struct MveBlock {
  const int8_t* weights;
  const int32_t* tables;
  int32_t out_zero;
};
// A row of `count` outputs of `lanes` bytes; steps from one output to the next. Read by assembly: lanes at 12, count at 8.
struct MveSpan {
  int32_t x_step, o_step, count, lanes;
};

inline MveBlock mve_block(const KernelArgs* a, const ConvParams& p, int32_t index) {
  const int32_t taps = int32_t(conv_lanes_taps(p));
  return {at<int8_t>(a, p.weights) + index * taps * 16, at<int32_t>(a, p.tables) + index * int32_t(kLanesTable / 4), p.out_zero};
}

// Runs `one_image(image, lanes, block, out)` for each image and block of channels.
template <class F>
inline void mve_for_blocks(const KernelArgs* a, const ConvParams& p, F one_image) {
  const int8_t* image = static_cast<const int8_t*>(a->operand[0]);
  int8_t* const all = static_cast<int8_t*>(a->operand[1]);
  int8_t* out = all;
  for (int32_t n = 0; n < p.n; n++, image += p.in_h * p.in_w * p.in_c, out += p.out_h * p.out_w * p.out_c)
    for (int32_t c = 0; c < p.in_c; c += 16)
      one_image(image + c, p.in_c - c < 16 ? p.in_c - c : 16, mve_block(a, p, c / 16), out + c);
  mve_clamp(all, p.n * p.out_h * p.out_w * p.out_c, p.lo, p.hi);
}

// Instructions, as text. `half` is "b" (even lanes) or "t" (odd ones); q, a, b: registers; `at`: an address, `offset` in the
// tables.
#define MVE_LOAD(q, at) "vldrb.8 " q ", " at "\n"
#define MVE_TABLE(q, offset) "vldrw.32 " q ", [%[t], #" offset "]\n"
#define MVE_SHIFTS(q, offset) "vldrb.s32 " q ", [%[t], #" offset "]\n"
#define MVE_MUL(half, q, a, b) "vmull" half ".s8 " q ", " a ", " b "\n"
#define MVE_ADD16(q, a, b) "vadd.i16 " q ", " a ", " b "\n"
#define MVE_ADD32(q, a) "vadd.i32 " q ", " q ", " a "\n"
#define MVE_WIDEN(half, q, a) "vmovl" half ".s16 " q ", " a "\n"
#define MVE_SCALE(q, mult) "vqdmulh.s32 " q ", " q ", " mult "\n"
#define MVE_SHIFT(q, by) "vrshl.s32 " q ", " q ", " by "\n"
#define MVE_NARROW32(half, q, a) "vqmovn" half ".s32 " q ", " a "\n"
#define MVE_NARROW16(half, q, a) "vqmovn" half ".s16 " q ", " a "\n"
#define MVE_ADD_ZERO(q) "vqadd.s16 " q ", " q ", %[zero]\n"

#define MVE_CALL(macro, ...) macro(__VA_ARGS__)  // for arguments that are several
// The halves of the lanes and the registers of their sums; each starts at the biases and ends in the first of them.
#define MVE_EVEN "b", "q0", "q1"
#define MVE_ODD "t", "q2", "q1"

}  // namespace corten
