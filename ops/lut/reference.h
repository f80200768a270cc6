// lut, int8: y[i] = table[i % channels][x[i] + 128]. Every row must equal this, bit for bit.
#pragma once
#include "ops/lut/params.h"
#include "runtime/kernel.h"

namespace corten {

inline void lut_reference(const LutParams& p, const int8_t* table, const int8_t* x, int8_t* y) {
  for (uint32_t i = 0; i < p.count; i++) y[i] = table[i % p.channels * 256 + uint32_t(x[i] + 128)];
}

// Common to all rows.
inline bool lut_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(LutParams) || c->operands != 2) return false;
  const LutParams& p = *static_cast<const LutParams*>(c->params);
  if (p.count == 0 || p.channels == 0 || p.count % p.channels || p.count != c->operand_bytes[0] || p.count != c->operand_bytes[1])
    return false;
  return in_image(c, p.table, p.channels, 256, 4);
}

}  // namespace corten
