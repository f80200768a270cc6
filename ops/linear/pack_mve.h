// Packing of the MVE row.
#pragma once
#include "ops/linear/pack.h"

namespace corten {

// quads: outputs in fours, inputs in sixteens ("vectors"), zeros fill up. A quad's weights: for each vector 16 bytes of each of the
// four outputs. Tables: for each quad int32 bias[4], mult[4], int8 -shift[4].
constexpr uint32_t linear_mve_vectors(const LinearParams& p) { return (p.in + 15) / 16; }
constexpr uint32_t linear_mve_quads(const LinearParams& p) { return (p.out + 3) / 4; }
constexpr uint32_t linear_quads_weights(const LinearParams& p) { return linear_mve_quads(p) * linear_mve_vectors(p) * 64; }
constexpr uint32_t linear_quads_tables(const LinearParams& p) { return linear_mve_quads(p) * 36; }

// Where the weight of input i of output o lies.
constexpr uint32_t linear_quads_at(uint32_t vectors, uint32_t o, uint32_t i) {
  return (o / 4 * vectors + i / 16) * 64 + o % 4 * 16 + i % 16;
}

inline void linear_quads_pack(const LinearParams& p, const LinearSource& source, uint8_t* weights, uint8_t* tables) {
  memset(weights, 0, linear_quads_weights(p)), memset(tables, 0, linear_quads_tables(p));
  for (uint32_t o = 0; o < p.out; o++) {
    for (uint32_t i = 0; i < p.in; i++)
      weights[linear_quads_at(linear_mve_vectors(p), o, i)] = uint8_t(source.weights[o * p.in + i]);
    uint8_t* quad = tables + o / 4 * 36;
    memcpy(quad + o % 4 * 4, &source.bias[o], 4), memcpy(quad + 16 + o % 4 * 4, &source.mult[o], 4);
    quad[32 + o % 4] = uint8_t(-source.shift[o]);
  }
}
inline constexpr LinearPacking linear_quads = {linear_quads_weights, linear_quads_tables, linear_quads_pack};

}  // namespace corten
