// Packings of the DSP rows.
#pragma once
#include "ops/conv2d/pack.h"
#include "runtime/dsp_scale.h"

namespace corten {

// Which of the facts in params.h hold that DSP rows ask for.
inline uint32_t conv_dsp_facts(const ConvParams& p, const ConvSource& s) {
  const int32_t taps = conv_taps(p);
  for (int32_t o = 0; o < p.out_c; o++) {
    const int8_t* w = s.weights + o * taps;
    for (int32_t k = 0; k < taps; k++)
      if (w[k] == -128) return 0;
    if (!dsp_scale_exact(reach_of(w, taps, s.bias[o]), s.bias[o], s.mult[o], s.shift[o])) return 0;
  }
  return kConvDspExact;
}

// Each group's channels in pairs (a, b), its taps in fours; zeros fill up. A word holds the taps k and k+2 of both channels, the
// next one k+1 and k+3, so that SXTB16 of a word gives channel a's pair to multiply with SXTB16 of four inputs.
constexpr int32_t conv_dsp_taps(const ConvParams& p) { return (conv_taps(p) + 3) & ~3; }
constexpr int32_t conv_dsp_pairs(const ConvParams& p) { return (conv_group_out(p) + 1) / 2; }

// Which tap, in the order of (k_h, k_w, in_c / groups), stands at place k: first the words of four that each of the k_h rows has,
// then column by column what is left.
constexpr int32_t conv_dsp_tap(const ConvParams& p, int32_t k) {
  const int32_t run = p.k_w * conv_group_in(p), whole = run & ~3, words = p.k_h * whole;
  return k < words ? k / whole * run + k % whole : (k - words) % p.k_h * run + whole + (k - words) / p.k_h;
}

// The taps of channel o and, if there is one, o + 1. combined: bytes (a, b) are the halfword 256*b + a, b being one less where a is
// negative; else both bytes are as they are.
inline void conv_dsp_pack_pair(const ConvParams& p, const ConvSource& s, int32_t o, bool both, bool combined, uint8_t* out) {
  const int32_t taps = conv_taps(p);
  const int8_t* a = s.weights + o * taps;
  for (int32_t k = 0; k < conv_dsp_taps(p); k++) {
    const int32_t from = k < taps ? conv_dsp_tap(p, k) : 0;
    const int32_t wa = k < taps ? a[from] : 0, wb = k < taps && both ? a[taps + from] : 0;
    uint8_t* at = out + k / 4 * 8 + k % 2 * 4 + k % 4 / 2 * 2;
    at[0] = uint8_t(wa), at[1] = uint8_t(wb - (combined && wa < 0));
  }
}

// pairs: for each pair the words of PairTile.stream.
constexpr int32_t conv_pair_words(const ConvParams& p) { return conv_dsp_taps(p) / 2 + 5; }
constexpr uint32_t conv_pairs_weights(const ConvParams& p) {
  return uint32_t(p.groups) * uint32_t(conv_dsp_pairs(p)) * uint32_t(conv_pair_words(p)) * 4;
}
constexpr uint32_t conv_no_tables(const ConvParams&) { return 0; }
inline DspScale conv_dsp_scale(const ConvParams& p, const ConvSource& s, int32_t o, bool times256) {
  const int32_t taps = conv_taps(p);
  return dsp_scale(reach_of(s.weights + o * taps, taps, s.bias[o]), s.bias[o], s.mult[o], s.shift[o], times256);
}
inline void conv_pairs_pack(const ConvParams& p, const ConvSource& s, uint8_t* out, uint8_t*) {
  const int32_t go = conv_group_out(p), taps_bytes = conv_dsp_taps(p) * 2;
  for (int32_t g = 0; g < p.groups; g++)
    for (int32_t i = 0; i < go; i += 2) {
      const int32_t o = g * go + i;
      const bool both = i + 1 < go;
      const DspScale a = conv_dsp_scale(p, s, o, false), b = both ? conv_dsp_scale(p, s, o + 1, true) : DspScale{0, 0};
      const int32_t bias_a = dsp_bias(a.word), head[2] = {bias_a, int32_t(uint32_t(b.word & ~255) + uint32_t(bias_a))};
      const int32_t tail[3] = {a.mult, b.mult, (a.word & 255) | (b.word & 255) << 8};
      memcpy(out, head, sizeof head), out += sizeof head;
      conv_dsp_pack_pair(p, s, o, both, true, out), out += taps_bytes;
      memcpy(out, tail, sizeof tail), out += sizeof tail;
    }
}
inline constexpr ConvPacking conv_pairs = {conv_pairs_weights, conv_no_tables, conv_pairs_pack};

// wide: pairs of channels too, but not combined, for weights of -128 and scales that DspScale cannot hold.
struct ConvWideChannel {
  int32_t bias, mult, shift;
};
static_assert(sizeof(ConvWideChannel) == 12, "part of the image format");
constexpr uint32_t conv_wide_weights(const ConvParams& p) {
  return uint32_t(p.groups) * uint32_t(conv_dsp_pairs(p)) * uint32_t(conv_dsp_taps(p)) * 2;
}
constexpr uint32_t conv_wide_tables(const ConvParams& p) { return uint32_t(p.groups) * uint32_t(conv_dsp_pairs(p)) * 24; }
inline void conv_wide_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  const int32_t go = conv_group_out(p);
  for (int32_t g = 0; g < p.groups; g++)
    for (int32_t i = 0; i < conv_dsp_pairs(p) * 2; i++, tables += sizeof(ConvWideChannel)) {
      const int32_t o = g * go + i;
      ConvWideChannel channel = {0, 0, 0};
      if (i < go) channel = {s.bias[o], s.mult[o], s.shift[o]};
      memcpy(tables, &channel, sizeof channel);
      if (i % 2 == 0) conv_dsp_pack_pair(p, s, o, i + 1 < go, false, weights), weights += conv_dsp_taps(p) * 2;
    }
}
inline constexpr ConvPacking conv_wide = {conv_wide_weights, conv_wide_tables, conv_wide_pack};

// Scratch: three pixels' taps as int16, and one pixel's as they are.
constexpr uint32_t conv_dsp_scratch(const ConvParams& p) { return uint32_t(conv_dsp_taps(p)) * (conv_is_pointwise(p) ? 6 : 7); }

// Depthwise 3x3. A column's taps (w0, w1, w2) as bytes w0 w1 w1 w2: SXTB16 gives (w0, w1) for a pair of rows that starts with the
// window, SXTB16 of the rotated word (w1, w2) for one that ends with it.
struct Depthwise3x3 {
  uint32_t column[3];
  DspScale scale;
};
static_assert(sizeof(Depthwise3x3) == 20, "part of the image format");

constexpr bool conv_is_depthwise3x3(const ConvParams& p) {
  return conv_is_depthwise(p) && p.out_c == p.in_c && p.k_h == 3 && p.k_w == 3 && p.dil_h == 1 && p.dil_w == 1 &&
         p.stride_h == p.stride_w && p.stride_h <= 2;
}
constexpr uint32_t conv_depthwise3x3_weights(const ConvParams& p) { return p.out_c * uint32_t(sizeof(Depthwise3x3)); }
inline void conv_depthwise3x3_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t*) {
  for (int32_t c = 0; c < p.out_c; c++, weights += sizeof(Depthwise3x3)) {
    const int8_t* w = s.weights + c * 9;
    const DspScale scale = conv_dsp_scale(p, s, c, false);
    for (int32_t k = 0; k < 3; k++) {
      uint8_t* at = weights + 4 * k;
      at[0] = uint8_t(w[k]), at[1] = at[2] = uint8_t(w[3 + k]), at[3] = uint8_t(w[6 + k]);
    }
    memcpy(weights + 12, &scale, sizeof scale);
  }
}
inline constexpr ConvPacking conv_depthwise3x3 = {conv_depthwise3x3_weights, conv_no_tables, conv_depthwise3x3_pack};

// Scratch: four channels' columns of two row pairs.
inline constexpr int32_t kDepthwiseGroup = 4;  // channels at a time: one word
constexpr uint32_t conv_depthwise3x3_columns(const ConvParams& p) { return uint32_t(p.out_w - 1) * p.stride_w + 3; }
constexpr uint32_t conv_depthwise3x3_scratch(const ConvParams& p) { return conv_depthwise3x3_columns(p) * 32; }

// Depthwise of any window, multiplier 1. Channels in fours, zeros fill up: for each four, every tap's word of four weights. Tables:
// for each channel (of the fours) a DspScale, or a ConvWideChannel.
constexpr bool conv_is_depthwise1(const ConvParams& p) { return conv_is_depthwise(p) && p.out_c == p.in_c; }
constexpr uint32_t conv_fours(const ConvParams& p) { return (p.out_c + 3u) / 4; }
constexpr uint32_t conv_fours_weights(const ConvParams& p) { return conv_fours(p) * p.k_h * p.k_w * 4; }
constexpr uint32_t conv_fours_tables(const ConvParams& p) { return conv_fours(p) * 4 * uint32_t(sizeof(DspScale)); }
constexpr uint32_t conv_fours_wide_tables(const ConvParams& p) { return conv_fours(p) * 4 * uint32_t(sizeof(ConvWideChannel)); }
inline void conv_fours_pack_weights(const ConvParams& p, const ConvSource& s, uint8_t* weights) {
  const int32_t taps = p.k_h * p.k_w;
  for (int32_t c = 0; c < int32_t(conv_fours(p)) * 4; c++)
    for (int32_t k = 0; k < taps; k++) weights[(c / 4 * taps + k) * 4 + c % 4] = uint8_t(c < p.out_c ? s.weights[c * taps + k] : 0);
}
inline void conv_fours_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  conv_fours_pack_weights(p, s, weights);
  for (int32_t c = 0; c < int32_t(conv_fours(p)) * 4; c++, tables += sizeof(DspScale)) {
    const DspScale scale = c < p.out_c ? conv_dsp_scale(p, s, c, false) : DspScale{0, 0};
    memcpy(tables, &scale, sizeof scale);
  }
}
inline void conv_fours_wide_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  conv_fours_pack_weights(p, s, weights);
  for (int32_t c = 0; c < int32_t(conv_fours(p)) * 4; c++, tables += sizeof(ConvWideChannel)) {
    ConvWideChannel channel = {0, 0, 0};
    if (c < p.out_c) channel = {s.bias[c], s.mult[c], s.shift[c]};
    memcpy(tables, &channel, sizeof channel);
  }
}
inline constexpr ConvPacking conv_depthwise_fours = {conv_fours_weights, conv_fours_tables, conv_fours_pack};
inline constexpr ConvPacking conv_depthwise_fours_wide = {conv_fours_weights, conv_fours_wide_tables, conv_fours_wide_pack};

// Depthwise along one axis, stride 1: every column (k_w 1) or every row (k_h 1) of the image is a line of its own.
struct ConvLines {
  int32_t lines, in, out, taps, pad;  // how many, their positions before and after, the window's taps and its padding before
  int32_t in_step, in_line, out_step, out_line;  // bytes from a position to the next, and from a line to the next
};
constexpr bool conv_is_vertical_lines(const ConvParams& p) {
  return p.k_w == 1 && p.stride_w == 1 && p.pad_l == 0 && p.out_w == p.in_w && p.stride_h == 1 && p.dil_h == 1;
}
constexpr bool conv_is_horizontal_lines(const ConvParams& p) {
  return p.k_h == 1 && p.stride_h == 1 && p.pad_t == 0 && p.out_h == p.in_h && p.stride_w == 1 && p.dil_w == 1;
}
constexpr bool conv_is_depthwise_lines(const ConvParams& p) {
  return conv_is_depthwise1(p) && (conv_is_vertical_lines(p) || conv_is_horizontal_lines(p));
}
constexpr ConvLines conv_lines(const ConvParams& p) {
  const int32_t c = p.in_c, in_row = p.in_w * c, out_row = p.out_w * c;
  return conv_is_vertical_lines(p) ? ConvLines{p.in_w, p.in_h, p.out_h, p.k_h, p.pad_t, in_row, c, out_row, c}
                                   : ConvLines{p.in_h, p.in_w, p.out_w, p.k_w, p.pad_l, c, in_row, c, out_row};
}
// For each channel, its taps as words w[2j], w[2j-1], w[2j+1], w[2j], a tap before the first or behind the last being 0: SXTB16
// gives the pair for even outputs, SXTB16 of the rotated word that for odd ones. An even number of words, then its DspScale.
constexpr uint32_t conv_line_words(const ConvParams& p) { return (uint32_t(conv_lines(p).taps) / 2 + 2) & ~1u; }
constexpr uint32_t conv_lines_weights(const ConvParams& p) {
  return p.out_c * (conv_line_words(p) * 4 + uint32_t(sizeof(DspScale)));
}
inline void conv_lines_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t*) {
  const int32_t taps = conv_lines(p).taps, words = int32_t(conv_line_words(p));
  for (int32_t c = 0; c < p.out_c; c++) {
    const int8_t* w = s.weights + c * taps;
    for (int32_t k = 0; k < 2 * words; k += 2) {
      const int8_t before = int8_t(k > 0 && k <= taps ? w[k - 1] : 0), at = int8_t(k < taps ? w[k] : 0),
                   behind = int8_t(k + 1 < taps ? w[k + 1] : 0);
      const int8_t word[4] = {at, before, behind, at};
      memcpy(weights, word, 4), weights += 4;
    }
    const DspScale scale = conv_dsp_scale(p, s, c, false);
    memcpy(weights, &scale, sizeof scale), weights += sizeof scale;
  }
}
inline constexpr ConvPacking conv_depthwise_lines = {conv_lines_weights, conv_no_tables, conv_lines_pack};

// Scratch: four channels' pairs of positions, as many as the last four outputs read.
constexpr uint32_t conv_lines_pairs(const ConvParams& p) {
  return (uint32_t(conv_lines(p).out) + 3) / 4 * 2 + conv_line_words(p) - 1;
}
constexpr uint32_t conv_lines_scratch(const ConvParams& p) { return conv_lines_pairs(p) * 16; }

}  // namespace corten
