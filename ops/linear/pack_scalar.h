// Packing of the scalar row: tables are a DspScale per output; weights (out, in) with the inputs filled up with zeros to a multiple
// of 4. Four outputs stand together, a word for each input: a byte for each output, 128 more than the weight. The last out % 4
// stand alone and as they are.
#pragma once
#include "ops/linear/pack.h"
#include "runtime/dsp_scale.h"

namespace corten {

inline constexpr uint32_t kScalarInputs = 65536;  // with more, a sum of products might leave 32 bits
constexpr uint32_t linear_in4(const LinearParams& p) { return (p.in + 3) / 4 * 4; }
constexpr uint32_t linear_scalar_weights(const LinearParams& p) { return p.out * linear_in4(p); }
constexpr uint32_t linear_scalar_tables(const LinearParams& p) { return p.out * uint32_t(sizeof(DspScale)); }

inline void linear_scalar_tables_pack(const LinearParams& p, const LinearSource& s, uint8_t* tables) {
  for (uint32_t o = 0; o < p.out; o++) {
    const int8_t* const w = s.weights + o * p.in;
    const DspScale scale = dsp_scale(reach_of(w, int32_t(p.in), s.bias[o]), s.bias[o], s.mult[o], s.shift[o], false);
    memcpy(tables + o * sizeof scale, &scale, sizeof scale);
  }
}
inline void linear_scalar_pack(const LinearParams& p, const LinearSource& s, uint8_t* weights, uint8_t* tables) {
  const uint32_t in4 = linear_in4(p);
  linear_scalar_tables_pack(p, s, tables);
  for (uint32_t o = 0; o < p.out; o++) {
    const int8_t* const w = s.weights + o * p.in;
    const bool alone = o >= p.out / 4 * 4;
    for (uint32_t k = 0; k < in4; k++) {
      const int32_t weight = k < p.in ? w[k] : 0;
      if (alone)
        weights[o * in4 + k] = uint8_t(weight);
      else
        weights[(o / 4 * in4 + k) * 4 + o % 4] = uint8_t(weight + 128);
    }
  }
}
inline constexpr LinearPacking linear_scalar = {linear_scalar_weights, linear_scalar_tables, linear_scalar_pack};

// pairs: four outputs stand together too, two words for each input: w0 + w1 * 2^16 and w2 + w3 * 2^16.
constexpr uint32_t linear_scalar_pairs_weights(const LinearParams& p) { return (p.out / 4 * 8 + p.out % 4) * linear_in4(p); }
inline void linear_scalar_pairs_pack(const LinearParams& p, const LinearSource& s, uint8_t* weights, uint8_t* tables) {
  const uint32_t in4 = linear_in4(p), fours = p.out / 4 * 4;
  linear_scalar_tables_pack(p, s, tables);
  for (uint32_t o = 0; o < fours; o += 2)
    for (uint32_t k = 0; k < in4; k++) {
      const int32_t low = k < p.in ? s.weights[o * p.in + k] : 0, high = k < p.in ? s.weights[(o + 1) * p.in + k] : 0;
      const int32_t word = low + high * 65536;
      memcpy(weights + (o / 4 * in4 + k) * 8 + o % 4 * 2, &word, sizeof word);
    }
  for (uint32_t o = fours; o < p.out; o++)
    for (uint32_t k = 0; k < in4; k++)
      weights[fours * 2 * in4 + (o - fours) * in4 + k] = uint8_t(k < p.in ? s.weights[o * p.in + k] : 0);
}
inline constexpr LinearPacking linear_scalar_pairs = {linear_scalar_pairs_weights, linear_scalar_tables, linear_scalar_pairs_pack};

// Not worth it where filling up costs more than 5 % (and 512 bytes).
constexpr bool linear_scalar_usable(const LinearParams& p) {
  const uint32_t waste = (linear_in4(p) - p.in) * p.out;
  return (p.flags & kLinearDspExact) && p.in <= kScalarInputs && (waste <= 512 || waste * 20 <= p.in * p.out);
}

}  // namespace corten
