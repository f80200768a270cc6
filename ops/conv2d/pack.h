// Packings shared by all tiers: the plain one. Runs in the compiler and in tests on the core.
#pragma once
#include <string.h>

#include "ops/conv2d/params.h"
#include "runtime/kernel.h"

namespace corten {

// A packing writes weights and tables for one row, and says beforehand how many bytes each takes.
struct ConvPacking {
  uint32_t (*weights_bytes)(const ConvParams&);
  uint32_t (*tables_bytes)(const ConvParams&);
  void (*pack)(const ConvParams&, const ConvSource&, uint8_t* weights, uint8_t* tables);
};

// plain: weights (out_c, k_h, k_w, in_c / groups); tables int32 bias[out_c], mult[out_c], shift[out_c].
constexpr uint32_t conv_plain_weights(const ConvParams& p) { return uint32_t(p.out_c) * uint32_t(conv_taps(p)); }
constexpr uint32_t conv_plain_tables(const ConvParams& p) { return uint32_t(p.out_c) * 12; }
inline void conv_plain_pack(const ConvParams& p, const ConvSource& s, uint8_t* weights, uint8_t* tables) {
  memcpy(weights, s.weights, conv_plain_weights(p));
  const uint32_t n = p.out_c * 4u;
  memcpy(tables, s.bias, n), memcpy(tables + n, s.mult, n), memcpy(tables + 2 * n, s.shift, n);
}
inline constexpr ConvPacking conv_plain = {conv_plain_weights, conv_plain_tables, conv_plain_pack};

// Is none of the sizes that kernels divide by, or count down from, zero? All but the padding, that is.
inline bool conv_sizes_ok(const ConvParams& p) {
  const uint16_t* size = reinterpret_cast<const uint16_t*>(&p);
  for (uint32_t i = 0; i < 16; i++)
    if (size[i] == 0 && i != 12 && i != 13) return false;
  return true;
}
static_assert(offsetof(ConvParams, pad_t) == 24 && offsetof(ConvParams, pad_l) == 26 && offsetof(ConvParams, in_zero) == 32);
// Of 16 bits each.
constexpr uint64_t conv_volume(uint32_t a, uint32_t b, uint32_t c, uint32_t d) { return uint64_t(a * b) * (c * d); }

// Does a convolution with these params stay in bounds? Common to all rows; a row adds its packing and scratch. One copy for all.
__attribute__((noinline, cold)) inline bool conv_check(const CheckArgs* a, uint32_t weights_bytes(const ConvParams&),
                                                       uint32_t tables_bytes(const ConvParams&), uint32_t scratch_bytes) {
  if (a->params_bytes != sizeof(ConvParams) || a->operands != 2) return false;
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  if (!conv_sizes_ok(p) || p.in_c % p.groups || p.out_c % p.groups || p.lo > p.hi) return false;
  const uint64_t in = conv_volume(p.n, p.in_h, p.in_w, p.in_c), out = conv_volume(p.n, p.out_h, p.out_w, p.out_c);
  if (in != a->operand_bytes[0] || out != a->operand_bytes[1] || in > 0x7fffffff || out > 0x7fffffff) return false;
  if (conv_volume(p.out_c, p.k_h, p.k_w, uint32_t(conv_group_in(p))) > a->image_bytes) return false;
  const uint32_t most = 0x3fffffff;  // of how far the taps reach, padding included; each product is below 2^32
  const uint32_t rows = uint32_t(p.out_h) * p.stride_h, columns = uint32_t(p.out_w) * p.stride_w;
  const uint32_t kernel_rows = uint32_t(p.k_h) * p.dil_h, kernel_columns = uint32_t(p.k_w) * p.dil_w;
  if (rows > most || kernel_rows > most - rows || columns > most || kernel_columns > most - columns) return false;
  return p.weights_bytes == weights_bytes(p) && in_image(a, p.weights, p.weights_bytes, 1, 16) &&
         p.tables_bytes == tables_bytes(p) && in_image(a, p.tables, p.tables_bytes, 1, 16) && a->scratch_bytes >= scratch_bytes;
}
inline const ConvParams& conv_params(const CheckArgs* a) { return *static_cast<const ConvParams*>(a->params); }

}  // namespace corten
