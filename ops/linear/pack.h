// Packings shared by all tiers: the plain one. Runs in the compiler and in tests on the core.
#pragma once
#include <string.h>

#include "ops/linear/params.h"
#include "runtime/kernel.h"

namespace corten {

// A packing writes weights and tables for one row, and says beforehand how many bytes each takes.
struct LinearPacking {
  uint32_t (*weights_bytes)(const LinearParams&);
  uint32_t (*tables_bytes)(const LinearParams&);
  void (*pack)(const LinearParams&, const LinearSource&, uint8_t* weights, uint8_t* tables);
};

// plain: weights (out, in); tables int32 bias[out], mult[out], shift[out].
constexpr uint32_t linear_plain_weights(const LinearParams& p) { return p.out * p.in; }
constexpr uint32_t linear_plain_tables(const LinearParams& p) { return p.out * 12; }
inline void linear_plain_pack(const LinearParams& p, const LinearSource& s, uint8_t* weights, uint8_t* tables) {
  memcpy(weights, s.weights, linear_plain_weights(p));
  const uint32_t n = p.out * 4;
  memcpy(tables, s.bias, n), memcpy(tables + n, s.mult, n), memcpy(tables + 2 * n, s.shift, n);
}
inline constexpr LinearPacking linear_plain = {linear_plain_weights, linear_plain_tables, linear_plain_pack};

// Does a linear with these params stay in bounds? Common to all rows; a row adds its packing and scratch.
inline bool linear_check(const CheckArgs* a, uint32_t weights_bytes(const LinearParams&),
                         uint32_t tables_bytes(const LinearParams&), uint32_t scratch_bytes) {
  if (a->params_bytes != sizeof(LinearParams) || a->operands != 2) return false;
  const LinearParams& p = *static_cast<const LinearParams*>(a->params);
  if (!p.rows || !p.in || !p.out || p.lo > p.hi || p.in > 0xffffff || p.out > 0xffffff) return false;
  if (uint64_t(p.rows) * p.in != a->operand_bytes[0] || uint64_t(p.rows) * p.out != a->operand_bytes[1]) return false;
  if (uint64_t(p.in) * p.out > a->image_bytes) return false;
  return p.weights_bytes == weights_bytes(p) && in_image(a, p.weights, p.weights_bytes, 1, 16) &&
         p.tables_bytes == tables_bytes(p) && in_image(a, p.tables, p.tables_bytes, 1, 16) && a->scratch_bytes >= scratch_bytes;
}
inline const LinearParams& linear_params(const CheckArgs* a) { return *static_cast<const LinearParams*>(a->params); }

}  // namespace corten
