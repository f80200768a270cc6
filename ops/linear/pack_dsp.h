// Packings of the DSP rows.
#pragma once
#include "ops/linear/pack.h"
#include "runtime/dsp_scale.h"

namespace corten {

// Which of the facts in params.h hold that DSP rows ask for.
inline uint32_t linear_dsp_facts(const LinearParams& p, const LinearSource& s) {
  for (uint32_t o = 0; o < p.out; o++) {
    const int8_t* w = s.weights + o * p.in;
    for (uint32_t k = 0; k < p.in; k++)
      if (w[k] == -128) return 0;
    if (!dsp_scale_exact(reach_of(w, int32_t(p.in), s.bias[o]), s.bias[o], s.mult[o], s.shift[o])) return 0;
  }
  return kLinearDspExact;
}

// Outputs in pairs (a, b), inputs in fours k .. k+3, zeros fill up. Two words for each four and pair: the taps k and k+2 of both
// outputs, then k+1 and k+3. Two pairs are interleaved by words; a last pair that is alone stands alone.
constexpr uint32_t linear_dsp_fours(const LinearParams& p) { return (p.in + 3) / 4; }
constexpr uint32_t linear_dsp_pairs(const LinearParams& p) { return (p.out + 1) / 2; }
constexpr uint32_t linear_dsp_weights(const LinearParams& p) { return linear_dsp_pairs(p) * linear_dsp_fours(p) * 8; }

// combined: the halfword of taps (a, b) is 256*b + a; else both bytes are as they are.
inline void linear_dsp_pack_weights(const LinearParams& p, const LinearSource& s, uint8_t* out, bool combined) {
  const uint32_t pairs = linear_dsp_pairs(p), fours = linear_dsp_fours(p);
  for (uint32_t i = 0; i < pairs; i++) {
    const bool alone = i % 2 == 0 && i + 1 == pairs;
    uint8_t* from = out + i / 2 * fours * 16 + i % 2 * 4;
    const uint32_t stride = alone ? 4 : 8;  // bytes from one word of this pair to its next
    for (uint32_t k = 0; k < fours * 4; k++) {
      const int32_t a = k < p.in ? s.weights[2 * i * p.in + k] : 0;
      const int32_t b = k < p.in && 2 * i + 1 < p.out ? s.weights[(2 * i + 1) * p.in + k] : 0;
      uint8_t* at = from + (k / 4 * 2 + k % 2) * stride + k % 4 / 2 * 2;
      at[0] = uint8_t(a), at[1] = uint8_t(b - (combined && a < 0));
    }
  }
}

// pairs: a DspScale for each output, those of the second of a pair times 256.
constexpr uint32_t linear_pairs_tables(const LinearParams& p) { return linear_dsp_pairs(p) * 16; }
inline void linear_pairs_pack(const LinearParams& p, const LinearSource& s, uint8_t* weights, uint8_t* tables) {
  linear_dsp_pack_weights(p, s, weights, true);
  for (uint32_t o = 0; o < linear_dsp_pairs(p) * 2; o++, tables += sizeof(DspScale)) {
    DspScale scale = {0, 0};
    if (o < p.out)
      scale = dsp_scale(reach_of(s.weights + o * p.in, int32_t(p.in), s.bias[o]), s.bias[o], s.mult[o], s.shift[o], o % 2);
    memcpy(tables, &scale, sizeof scale);
  }
}
inline constexpr LinearPacking linear_pairs = {linear_dsp_weights, linear_pairs_tables, linear_pairs_pack};

// wide: the same without the sum, for weights of -128 and scales that DspScale cannot hold; tables as plain.
inline void linear_wide_pack(const LinearParams& p, const LinearSource& s, uint8_t* weights, uint8_t* tables) {
  linear_dsp_pack_weights(p, s, weights, false);
  const uint32_t n = p.out * 4;
  memcpy(tables, s.bias, n), memcpy(tables + n, s.mult, n), memcpy(tables + 2 * n, s.shift, n);
}
inline constexpr LinearPacking linear_wide = {linear_dsp_weights, linear_plain_tables, linear_wide_pack};

}  // namespace corten
