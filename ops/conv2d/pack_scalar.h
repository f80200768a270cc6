// Packing of the scalar rows: tables are a ShortScale or a DspScale per channel; weights (out_c, taps) with the taps filled up with
// zeros to a multiple of 4, and two channels interleaved by words of four taps: c0 taps 0-3, c1 taps 0-3, c0 taps 4-7, ... A last
// odd channel stands alone.
#pragma once
#include "ops/conv2d/pack.h"
#include "runtime/dsp_scale.h"
#include "runtime/short_scale.h"

namespace corten {

constexpr uint32_t conv_taps4(const ConvParams& p) { return (uint32_t(p.k_h) * p.k_w * uint32_t(conv_group_in(p)) + 3) / 4 * 4; }
inline constexpr uint32_t kScalarTaps = 65536;  // with more, a sum of products might leave 32 bits
constexpr uint32_t conv_scalar_weights(const ConvParams& p) { return p.out_c * conv_taps4(p); }
constexpr uint32_t conv_scalar_tables(const ConvParams& p) { return p.out_c * uint32_t(sizeof(DspScale)); }

inline void conv_scalar_tables_pack(const ConvParams& p, const ConvSource& s, uint8_t* tables) {
  const int32_t taps = conv_taps(p);
  for (int32_t o = 0; o < p.out_c; o++) {
    const DspScale scale = dsp_scale(reach_of(s.weights + o * taps, taps, s.bias[o]), s.bias[o], s.mult[o], s.shift[o], false);
    memcpy(tables + o * sizeof scale, &scale, sizeof scale);
  }
}

inline void conv_scalar_weights_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights) {
  const uint32_t taps = uint32_t(conv_taps(p)), taps4 = conv_taps4(p);
  memset(weights, 0, conv_scalar_weights(p));
  for (uint32_t o = 0; o < p.out_c; o++) {
    const bool alone = o + 1 == p.out_c && o % 2 == 0;
    uint8_t* const start = weights + o / 2 * 2 * taps4 + (alone ? 0 : o % 2 * 4);
    for (uint32_t k = 0; k < taps; k++) start[k / 4 * (alone ? 4 : 8) + k % 4] = uint8_t(s.weights[o * taps + k]);
  }
}

inline void conv_scalar_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  conv_scalar_weights_pack(p, s, weights);
  conv_scalar_tables_pack(p, s, tables);
}
inline constexpr ConvPacking conv_scalar = {conv_scalar_weights, conv_scalar_tables, conv_scalar_pack};

// short: the same weights, tables of ShortScale.
constexpr uint32_t conv_short_tables(const ConvParams& p) { return p.out_c * uint32_t(sizeof(ShortScale)); }
inline bool conv_short_scale(const ConvParams& p, const ConvSource& s, int32_t o, ShortScale* scale) {
  const int32_t taps = conv_taps(p);
  const Reach reach = reach_of(s.weights + o * taps, taps, s.bias[o]);
  return short_scale(reach, {s.bias[o], s.mult[o], s.shift[o]}, {p.out_zero, p.lo, p.hi}, scale);
}
inline void conv_short_tables_pack(const ConvParams& p, const ConvSource& s, uint8_t* tables) {
  for (int32_t o = 0; o < p.out_c; o++, tables += sizeof(ShortScale)) {
    ShortScale scale = {0, 0, 0};
    conv_short_scale(p, s, o, &scale);
    memcpy(tables, &scale, sizeof scale);
  }
}
inline void conv_scalar_short_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  conv_scalar_weights_pack(p, s, weights);
  conv_short_tables_pack(p, s, tables);
}
inline constexpr ConvPacking conv_scalar_short = {conv_scalar_weights, conv_short_tables, conv_scalar_short_pack};

// Which of the facts in params.h hold that scalar rows ask for.
inline uint32_t conv_scalar_facts(const ConvParams& p, const ConvSource& s) {
  ShortScale scale;
  for (int32_t k = p.out_c * conv_taps(p) - 1; k >= 0; k--)
    if (s.weights[k] == -128) return 0;
  for (int32_t o = 0; o < p.out_c; o++)
    if (!conv_short_scale(p, s, o, &scale)) return 0;
  return kConvShortExact;
}

// wide: the same weights, tables plain.
inline void conv_scalar_wide_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  conv_scalar_weights_pack(p, s, weights);
  const uint32_t n = p.out_c * 4u;
  memcpy(tables, s.bias, n), memcpy(tables + n, s.mult, n), memcpy(tables + 2 * n, s.shift, n);
}
inline constexpr ConvPacking conv_scalar_wide = {conv_scalar_weights, conv_plain_tables, conv_scalar_wide_pack};

// Not worth it where filling up costs more than 5 % (and 512 bytes).
constexpr bool conv_scalar_wide_usable(const ConvParams& p) {
  const uint32_t taps = uint32_t(conv_taps(p)), waste = (conv_taps4(p) - taps) * p.out_c;
  return p.groups == 1 && (p.flags & kConvTap127) && taps <= kScalarTaps && (waste <= 512 || waste * 20 <= taps * p.out_c);
}

// Depthwise: weights plain, tables as above.
inline void conv_scalar_depthwise_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  memcpy(weights, s.weights, conv_plain_weights(p));
  conv_scalar_tables_pack(p, s, tables);
}
inline constexpr ConvPacking conv_scalar_depthwise = {conv_plain_weights, conv_scalar_tables, conv_scalar_depthwise_pack};
inline void conv_scalar_depthwise_short_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  memcpy(weights, s.weights, conv_plain_weights(p));
  conv_short_tables_pack(p, s, tables);
}
inline constexpr ConvPacking conv_scalar_depthwise_short = {conv_plain_weights, conv_short_tables,
                                                            conv_scalar_depthwise_short_pack};

// The kernel walks along the longer side: this is the convolution with height and width exchanged if the height is longer. Tensors
// and weights stay as they are, so their steps are exchanged with it.
constexpr bool conv_upright(const ConvParams& p) { return p.out_h > p.out_w || (p.out_h == p.out_w && p.k_h > p.k_w); }
constexpr ConvParams conv_lying(const ConvParams& p) {
  ConvParams q = p;
  if (!conv_upright(p)) return q;
  q.in_h = p.in_w, q.in_w = p.in_h, q.out_h = p.out_w, q.out_w = p.out_h, q.k_h = p.k_w, q.k_w = p.k_h;
  q.stride_h = p.stride_w, q.stride_w = p.stride_h, q.pad_t = p.pad_l, q.pad_l = p.pad_t;
  return q;
}

// Scratch: a channel's weights, and k_h rows of words for a tile of output columns (and one column more, as two are computed at a
// time).
inline constexpr uint32_t kDepthwiseTile = 64;
constexpr uint32_t conv_depthwise_row(const ConvParams& lying) {
  return (lying.out_w < kDepthwiseTile ? lying.out_w : kDepthwiseTile) * lying.stride_w + lying.k_w;
}
constexpr uint64_t conv_depthwise_scratch(const ConvParams& p) {
  const ConvParams q = conv_lying(p);
  return 4 * uint64_t(q.k_h) * (uint64_t(q.k_w) + conv_depthwise_row(q));
}
constexpr bool conv_scalar_depthwise_usable(const ConvParams& p, uint32_t exact) {
  return conv_is_depthwise(p) && p.dil_h == 1 && p.dil_w == 1 && (p.flags & exact) && conv_depthwise_scratch(p) <= 8192;
}

// Depthwise with several outputs to an input: the scalar rows beat the DSP ones, which would widen an input for each group alone.
constexpr bool conv_is_multiplied(const ConvParams& p) {
  return p.out_c != p.in_c && conv_scalar_depthwise_usable(p, kConvShortExact | kConvDspExact);
}

}  // namespace corten
