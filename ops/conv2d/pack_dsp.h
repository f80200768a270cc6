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
    if (!dsp_scale_exact(reach_of(w, taps, s.bias[o]), s.mult[o], s.shift[o])) return 0;
  }
  return kConvDspExact;
}

// Each group's channels in pairs (a, b), its taps in fours; zeros fill up. A word holds the taps k and k+2 of both channels, the
// next one k+1 and k+3, so that SXTB16 of a word gives channel a's pair to multiply with SXTB16 of four inputs.
constexpr int32_t conv_dsp_taps(const ConvParams& p) { return (conv_taps(p) + 3) & ~3; }
constexpr int32_t conv_dsp_pairs(const ConvParams& p) { return (conv_group_out(p) + 1) / 2; }
constexpr uint32_t conv_dsp_weights(const ConvParams& p) {
  return uint32_t(p.groups) * uint32_t(conv_dsp_pairs(p)) * uint32_t(conv_dsp_taps(p)) * 2;
}

// combined: bytes (a, b) are the halfword 256*b + a, b being one less where a is negative; else both bytes are as they are.
inline void conv_dsp_pack_weights(const ConvParams& p, const ConvSource& s, uint8_t* out, bool combined) {
  const int32_t go = conv_group_out(p), taps = conv_taps(p);
  for (int32_t g = 0; g < p.groups; g++)
    for (int32_t o = 0; o < go; o += 2) {
      const int8_t* a = s.weights + (g * go + o) * taps;
      const int8_t* b = o + 1 < go ? a + taps : nullptr;
      for (int32_t k = 0; k < taps + 3 - (taps + 3) % 4; k++) {
        const int32_t wa = k < taps ? a[k] : 0, wb = k < taps && b ? b[k] : 0;
        uint8_t* at = out + k / 4 * 8 + k % 2 * 4 + k % 4 / 2 * 2;
        at[0] = uint8_t(wa), at[1] = uint8_t(wb - (combined && wa < 0));
      }
      out += conv_dsp_taps(p) * 2;
    }
}

// pairs: DspScale of a, DspScale of b (times 256) for each pair.
constexpr uint32_t conv_pairs_tables(const ConvParams& p) { return uint32_t(p.groups) * uint32_t(conv_dsp_pairs(p)) * 16; }
inline void conv_pairs_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  conv_dsp_pack_weights(p, s, weights, true);
  const int32_t go = conv_group_out(p), taps = conv_taps(p);
  for (int32_t g = 0; g < p.groups; g++)
    for (int32_t i = 0; i < conv_dsp_pairs(p) * 2; i++, tables += sizeof(DspScale)) {
      const int32_t o = g * go + i;
      DspScale scale = {0, 0};
      if (i < go) scale = dsp_scale(reach_of(s.weights + o * taps, taps, s.bias[o]), s.bias[o], s.mult[o], s.shift[o], i % 2);
      memcpy(tables, &scale, sizeof scale);
    }
}
inline constexpr ConvPacking conv_pairs = {conv_dsp_weights, conv_pairs_tables, conv_pairs_pack};

// wide: the same without the sum, for weights of -128 and scales that DspScale cannot hold; int32 bias, mult, shift for each
// channel.
constexpr uint32_t conv_wide_tables(const ConvParams& p) { return uint32_t(p.groups) * uint32_t(conv_dsp_pairs(p)) * 24; }
inline void conv_wide_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  conv_dsp_pack_weights(p, s, weights, false);
  const int32_t go = conv_group_out(p);
  for (int32_t g = 0; g < p.groups; g++)
    for (int32_t i = 0; i < conv_dsp_pairs(p) * 2; i++, tables += 12) {
      const int32_t o = g * go + i;
      const int32_t row[3] = {i < go ? s.bias[o] : 0, i < go ? s.mult[o] : 0, i < go ? s.shift[o] : 0};
      memcpy(tables, row, sizeof row);
    }
}
inline constexpr ConvPacking conv_wide = {conv_dsp_weights, conv_wide_tables, conv_wide_pack};

// Scratch: three pixels' taps as int16, then one pixel's bytes if its rows are not whole words.
constexpr uint32_t conv_dsp_scratch(const ConvParams& p) { return uint32_t(conv_dsp_taps(p)) * (conv_group_in(p) % 4 ? 7 : 6); }

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
constexpr uint32_t conv_no_tables(const ConvParams&) { return 0; }
constexpr uint32_t conv_depthwise3x3_weights(const ConvParams& p) { return p.out_c * uint32_t(sizeof(Depthwise3x3)); }
inline void conv_depthwise3x3_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t*) {
  for (int32_t c = 0; c < p.out_c; c++, weights += sizeof(Depthwise3x3)) {
    const int8_t* w = s.weights + c * 9;
    const DspScale scale = dsp_scale(reach_of(w, 9, s.bias[c]), s.bias[c], s.mult[c], s.shift[c], false);
    for (int32_t k = 0; k < 3; k++) {
      uint8_t* at = weights + 4 * k;
      at[0] = uint8_t(w[k]), at[1] = at[2] = uint8_t(w[3 + k]), at[3] = uint8_t(w[6 + k]);
    }
    memcpy(weights + 12, &scale, sizeof scale);
  }
}
inline constexpr ConvPacking conv_depthwise3x3 = {conv_depthwise3x3_weights, conv_no_tables, conv_depthwise3x3_pack};

// Scratch: four channels' columns of two row pairs.
constexpr uint32_t conv_depthwise3x3_columns(const ConvParams& p) { return uint32_t(p.out_w - 1) * p.stride_w + 3; }
constexpr uint32_t conv_depthwise3x3_scratch(const ConvParams& p) { return conv_depthwise3x3_columns(p) * 32; }

}  // namespace corten
