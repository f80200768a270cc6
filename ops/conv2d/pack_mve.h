// Packings of the MVE rows.
#pragma once
#include "ops/conv2d/pack.h"

namespace corten {

// An image one column wide is a 1-D signal: laid along the row, which is how the MVE rows like it. The bytes lie the same.
constexpr ConvParams conv_turned(const ConvParams& p) {
  ConvParams q = p;
  if (p.in_w != 1 || p.out_w != 1 || p.k_w != 1 || p.pad_l != 0) return q;
  q.in_w = p.in_h, q.out_w = p.out_h, q.k_w = p.k_h, q.stride_w = p.stride_h, q.pad_l = p.pad_t, q.dil_w = p.dil_h;
  q.in_h = q.out_h = q.k_h = q.stride_h = q.dil_h = 1, q.pad_t = 0;
  return q;
}

// quads: output channels in fours; taps in sixteens ("vectors"), zeros fill up. A quad's weights: channels 0 and 2, for each
// vector 16 bytes of one and 16 of the other; then the same of channels 1 and 3. Tables: for each quad int32 bias[4], mult[4],
// int8 -shift[4].
constexpr uint32_t conv_mve_vectors(const ConvParams& p) { return (uint32_t(conv_taps(p)) + 15) / 16; }
constexpr uint32_t conv_mve_quads(const ConvParams& p) { return (uint32_t(p.out_c) + 3) / 4; }
constexpr uint32_t conv_quads_weights(const ConvParams& p) { return conv_mve_quads(p) * conv_mve_vectors(p) * 64; }
constexpr uint32_t conv_quads_tables(const ConvParams& p) { return conv_mve_quads(p) * 36; }

constexpr bool conv_is_unpadded_1x1(const ConvParams& p) {
  return p.groups == 1 && p.k_h == 1 && p.k_w == 1 && p.pad_t == 0 && p.pad_l == 0 && (p.out_h - 1) * p.stride_h < p.in_h &&
         (p.out_w - 1) * p.stride_w < p.in_w;
}
// The 1x1 row reads pixels where they lie: more than 64 taps in whole vectors only.
constexpr bool conv_mve_point_takes(const ConvParams& p) {
  return !(p.flags & kConvForSize) && conv_is_unpadded_1x1(p) && (p.in_c <= 64 || p.in_c % 16 == 0);
}
// The input of an output row is brought to scratch, padding included, in one of two ways. A band holds it column by column, so that
// an output's taps lie in one run, ordered (column, row, channel). Otherwise it is staged row by row, and each output's taps are
// copied from there to a patch, ordered (row, column, channel). The cheaper way is taken.
constexpr bool conv_mve_band(const ConvParams& p) {
  return p.dil_w == 1 && (p.k_h == 1 || p.stride_w * ((p.in_c + 15) / 16) <= (p.k_w * p.in_c + 15) / 16);
}
constexpr int32_t kMvePatches = 8;  // gathered at a time, of up to 4 vectors
constexpr uint64_t conv_mve_stage_bytes(const ConvParams& p) {
  return ((uint64_t(p.out_w) - 1) * p.stride_w + (uint64_t(p.k_w) - 1) * p.dil_w + 1) * p.k_h * p.in_c;
}
constexpr uint32_t conv_mve_scratch_turned(const ConvParams& p) {
  uint64_t bytes =
      (conv_mve_stage_bytes(p) + 31) & ~uint64_t(15);  // 16 are read beyond the last column, or written beyond the last patch
  if (!conv_mve_band(p)) bytes += uint64_t(conv_mve_vectors(p)) * 16 * (conv_mve_vectors(p) <= 4 ? kMvePatches : 2) + 16;
  return bytes > 0xffffffff ? 0xffffffff : uint32_t(bytes);
}
constexpr uint32_t conv_mve_scratch(const ConvParams& p) { return conv_mve_scratch_turned(conv_turned(p)); }

// Where the weight of tap k (in the order of the row) of channel o lies.
constexpr uint32_t conv_quads_at(uint32_t vectors, uint32_t o, uint32_t k) {
  return (o / 4 * 2 + o % 2) * vectors * 32 + k / 16 * 32 + o % 4 / 2 * 16 + k % 16;
}
constexpr uint32_t conv_mve_tap(const ConvParams& p, uint32_t r, uint32_t s, uint32_t c) {
  return conv_mve_band(conv_turned(p)) ? (s * p.k_h + r) * p.in_c + c : (r * p.k_w + s) * p.in_c + c;
}

inline void conv_quads_pack_tables(const ConvParams& p, const ConvSource& source, uint8_t* tables) {
  memset(tables, 0, conv_quads_tables(p));
  for (uint32_t o = 0; o < p.out_c; o++) {
    uint8_t* quad = tables + o / 4 * 36;
    memcpy(quad + o % 4 * 4, &source.bias[o], 4), memcpy(quad + 16 + o % 4 * 4, &source.mult[o], 4);
    quad[32 + o % 4] = uint8_t(-source.shift[o]);
  }
}
inline void conv_quads_pack(const ConvParams& p, const ConvSource& source, uint8_t* weights, uint8_t* tables) {
  memset(weights, 0, conv_quads_weights(p));
  const int8_t* from = source.weights;
  for (uint32_t o = 0; o < p.out_c; o++)
    for (uint32_t r = 0; r < p.k_h; r++)
      for (uint32_t s = 0; s < p.k_w; s++)
        for (uint32_t c = 0; c < p.in_c; c++)
          weights[conv_quads_at(conv_mve_vectors(p), o, conv_mve_tap(p, r, s, c))] = uint8_t(*from++);
  conv_quads_pack_tables(p, source, tables);
}
inline constexpr ConvPacking conv_quads = {conv_quads_weights, conv_quads_tables, conv_quads_pack};

// dense: the weights as (out_c, taps), nothing filled up; the tables as in quads. For layers where the zeros would be a fifth or
// more of the weights, and whose pixels are few: it costs time to spread the weights in scratch, a quad at a time.
constexpr uint32_t conv_dense_weights(const ConvParams& p) { return uint32_t(p.out_c) * uint32_t(conv_taps(p)); }
constexpr bool conv_mve_dense_usable(const ConvParams& p) {
  const uint32_t padded = conv_mve_vectors(p) * 16, taps = uint32_t(conv_taps(p));
  return p.groups == 1 && taps > 16 && taps <= 64 && (padded - taps) * 5 >= padded && uint64_t(p.n) * p.out_h * p.out_w <= 64 &&
         !(p.flags & kConvForSpeed);
}
constexpr uint32_t kMveRoom = 256;  // for a quad of 64 taps
constexpr uint32_t conv_mve_dense_scratch(const ConvParams& p) {
  const uint32_t bytes = conv_mve_scratch(p);
  return bytes > 0xffffffff - kMveRoom ? 0xffffffff : bytes + kMveRoom;
}
inline void conv_dense_pack(const ConvParams& p, const ConvSource& source, uint8_t* weights, uint8_t* tables) {
  const int8_t* from = source.weights;
  for (uint32_t o = 0; o < p.out_c; o++, weights += conv_taps(p))
    for (uint32_t r = 0; r < p.k_h; r++)
      for (uint32_t s = 0; s < p.k_w; s++)
        for (uint32_t c = 0; c < p.in_c; c++) weights[conv_mve_tap(p, r, s, c)] = uint8_t(*from++);
  conv_quads_pack_tables(p, source, tables);
}
inline constexpr ConvPacking conv_dense = {conv_dense_weights, conv_quads_tables, conv_dense_pack};

// Of the rows for any kernel and for 1x1, which differ in the number of taps they take.
__attribute__((noinline, cold)) inline bool conv_quads_check(const CheckArgs* a, int32_t from, int32_t to) {
  if (!conv_check(a, conv_quads_weights, conv_quads_tables, 0)) return false;
  const ConvParams& p = conv_params(a);
  return p.groups == 1 && conv_taps(p) >= from && conv_taps(p) <= to;
}
__attribute__((cold)) inline bool conv_mve_check(const CheckArgs* a, int32_t from, int32_t to) {
  return conv_quads_check(a, from, to) && a->scratch_bytes >= conv_mve_scratch(conv_params(a));
}
__attribute__((cold)) inline bool conv_point_check(const CheckArgs* a, int32_t from, int32_t to) {
  return conv_quads_check(a, from, to) && conv_mve_point_takes(conv_params(a));
}
__attribute__((cold)) inline bool conv_mve_dense_check(const CheckArgs* a) {
  if (!conv_check(a, conv_dense_weights, conv_quads_tables, 0)) return false;
  const ConvParams& p = conv_params(a);
  return p.groups == 1 && conv_taps(p) > 16 && conv_taps(p) <= 64 && a->scratch_bytes >= conv_mve_dense_scratch(p);
}

}  // namespace corten
