// Packing of the scalar rows: tables are a DspScale per channel; weights (out_c, taps) with the taps filled up with zeros to a
// multiple of 4, and two channels interleaved by words of four taps: c0 taps 0-3, c1 taps 0-3, c0 taps 4-7, ... A last odd channel
// stands alone.
#pragma once
#include "ops/conv2d/pack.h"
#include "runtime/dsp_scale.h"

namespace corten {

constexpr uint32_t conv_taps4(const ConvParams& p) { return (uint32_t(p.k_h) * p.k_w * uint32_t(conv_group_in(p)) + 3) / 4 * 4; }
constexpr uint32_t conv_scalar_weights(const ConvParams& p) { return p.out_c * conv_taps4(p); }
constexpr uint32_t conv_scalar_tables(const ConvParams& p) { return p.out_c * uint32_t(sizeof(DspScale)); }

inline void conv_scalar_tables_pack(const ConvParams& p, const ConvSource& s, uint8_t* tables) {
  const int32_t taps = conv_taps(p);
  for (int32_t o = 0; o < p.out_c; o++) {
    const DspScale scale = dsp_scale(reach_of(s.weights + o * taps, taps, s.bias[o]), s.bias[o], s.mult[o], s.shift[o], false);
    memcpy(tables + o * sizeof scale, &scale, sizeof scale);
  }
}

inline void conv_scalar_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  conv_scalar_tables_pack(p, s, tables);
  const uint32_t taps = uint32_t(conv_taps(p)), taps4 = conv_taps4(p);
  memset(weights, 0, conv_scalar_weights(p));
  for (uint32_t o = 0; o < p.out_c; o++) {
    const bool alone = o + 1 == p.out_c && o % 2 == 0;
    uint8_t* const start = weights + o / 2 * 2 * taps4 + (alone ? 0 : o % 2 * 4);
    for (uint32_t k = 0; k < taps; k++) start[k / 4 * (alone ? 4 : 8) + k % 4] = uint8_t(s.weights[o * taps + k]);
  }
}
inline constexpr ConvPacking conv_scalar = {conv_scalar_weights, conv_scalar_tables, conv_scalar_pack};

// Not worth it where filling up costs more than 5 % (and 512 bytes).
constexpr bool conv_scalar_usable(const ConvParams& p) {
  const uint32_t taps = uint32_t(conv_taps(p)), waste = (conv_taps4(p) - taps) * p.out_c;
  return p.groups == 1 && (p.flags & kConvDspExact) && (waste <= 512 || waste * 20 <= taps * p.out_c);
}

}  // namespace corten
