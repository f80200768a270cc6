// Packing of the MVE depthwise rows.
#pragma once
#include "ops/conv2d/pack_mve.h"

namespace corten {

// lanes: channels in sixteens, a lane each; the lanes beyond the last channel are zero. A block's weights: 16 bytes for each tap,
// for 3x3 ordered (row, column), else (column, row) and an even number of them, by a zero. Where a 3x3 layer with column stride 1
// has 8 channels, two neighbouring pixels share the lanes. Tables: for each block int32 bias[16], int8 -shift[16], int32 mult[16],
// each in quarters that have the lanes 0, 4, 8, 12 (then 2 .., 1 .., 3 ..), as two widenings leave them.
constexpr bool conv_mve_is_3x3(const ConvParams& p) { return p.k_h == 3 && p.k_w == 3 && p.dil_h == 1 && p.dil_w == 1; }
constexpr bool conv_mve_two_pixels(const ConvParams& p) {
  return conv_mve_is_3x3(p) && p.in_c == 8 && p.stride_w == 1 && !(p.flags & kConvForSize);
}
constexpr bool conv_mve_depthwise(const ConvParams& p) {
  return conv_is_depthwise(p) && p.out_c == p.in_c && conv_turned(p).dil_w == 1 && !(p.flags & kConvForRam);  // dsp: less scratch
}
// The products of two taps are added in 16 bits: they fit unless both weights are -128.
constexpr bool conv_mve_depthwise_usable(const ConvParams& p) {
  return p.flags & kConvShiftsPositive && p.flags & kConvOneMin && conv_mve_depthwise(p);
}
constexpr uint32_t kLanesTable = 144;
constexpr uint32_t conv_lanes_blocks(const ConvParams& p) { return (uint32_t(p.out_c) + 15) / 16; }
constexpr uint32_t conv_lanes_taps(const ConvParams& p) { return conv_mve_is_3x3(p) ? 9 : (uint32_t(p.k_h) * p.k_w + 1) & ~1u; }
constexpr uint32_t conv_lanes_weights(const ConvParams& p) { return conv_lanes_blocks(p) * conv_lanes_taps(p) * 16; }
constexpr uint32_t conv_lanes_tables(const ConvParams& p) { return conv_lanes_blocks(p) * kLanesTable; }

constexpr uint32_t conv_lanes_tap(const ConvParams& p, uint32_t r, uint32_t s) {
  return conv_mve_is_3x3(p) ? r * 3 + s : s * p.k_h + r;
}
// Where in its block's table a lane's numbers lie.
constexpr uint32_t conv_lanes_order(uint32_t lane) { return (lane % 2 * 2 + lane % 4 / 2) * 4 + lane / 4; }
constexpr uint32_t conv_lanes_bias_at(uint32_t lane) { return conv_lanes_order(lane) * 4; }
constexpr uint32_t conv_lanes_shift_at(uint32_t lane) { return 64 + conv_lanes_order(lane); }
constexpr uint32_t conv_lanes_mult_at(uint32_t lane) { return 80 + conv_lanes_order(lane) * 4; }

inline void conv_lanes_pack(const ConvParams& p, const ConvSource& source, uint8_t* weights, uint8_t* tables) {
  const uint32_t taps = uint32_t(p.k_h) * p.k_w;
  memset(weights, 0, conv_lanes_weights(p));
  for (uint32_t block = 0; block < conv_lanes_blocks(p); block++, weights += conv_lanes_taps(p) * 16, tables += kLanesTable)
    for (uint32_t lane = 0; lane < 16; lane++) {
      const uint32_t channel = conv_mve_two_pixels(p) ? lane % 8 : block * 16 + lane;
      const bool used = channel < p.out_c;
      for (uint32_t r = 0; used && r < p.k_h; r++)
        for (uint32_t s = 0; s < p.k_w; s++)
          weights[conv_lanes_tap(p, r, s) * 16 + lane] = uint8_t(source.weights[channel * taps + r * p.k_w + s]);
      const int32_t bias = used ? source.bias[channel] : 0, mult = used ? source.mult[channel] : 0;
      memcpy(tables + conv_lanes_bias_at(lane), &bias, 4), memcpy(tables + conv_lanes_mult_at(lane), &mult, 4);
      tables[conv_lanes_shift_at(lane)] = used ? uint8_t(-source.shift[channel]) : 0;
    }
}
inline constexpr ConvPacking conv_lanes = {conv_lanes_weights, conv_lanes_tables, conv_lanes_pack};

// Scratch: the input of one output row and one block. 3x3: three rows that take turns, of 16 bytes (two pixels: 8) for each
// column; otherwise column by column, each with its k_h rows.
constexpr uint32_t conv_lanes_scratch_turned(const ConvParams& turned, uint32_t column) {
  const uint64_t columns = (uint64_t(turned.out_w) - 1) * turned.stride_w + turned.k_w + turned.stride_w;  // one too many is read
  const uint64_t bytes = columns * turned.k_h * column + 16;
  return bytes > 0xffffffff ? 0xffffffff : uint32_t(bytes);
}
constexpr uint32_t conv_lanes_scratch(const ConvParams& p) {
  return conv_lanes_scratch_turned(conv_turned(p), conv_mve_two_pixels(p) ? 8 : 16);
}
constexpr uint32_t conv_lanes_wide_scratch(const ConvParams& p) { return conv_lanes_scratch_turned(conv_turned(p), 16); }

// Common to the depthwise rows.
__attribute__((noinline, cold)) inline bool conv_lanes_check(const CheckArgs* a) {
  return conv_check(a, conv_lanes_weights, conv_lanes_tables, 0) && conv_mve_depthwise(conv_params(a)) &&
         a->scratch_bytes >= conv_lanes_scratch(conv_params(a));
}

// May the output lie where the input does, with the MVE row that comes first for these params? A depthwise row has an input row in
// scratch before it writes there; 1x1 has a pixel in registers.
constexpr bool conv_mve_in_place(const ConvParams& p) {
  const ConvParams q = conv_turned(p);
  const bool smaller = p.out_h <= p.in_h && p.out_w <= p.in_w;
  if (conv_mve_depthwise_usable(p)) return smaller && (conv_mve_is_3x3(p) ? p.pad_t <= 2 : q.k_h == 1 && q.pad_t == 0);
  return p.flags & kConvShiftsPositive && conv_mve_point_takes(p) && p.in_c > 16 && p.in_c <= 64 && p.out_c <= p.in_c;
}

}  // namespace corten
