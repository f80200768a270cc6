// affine, int8: y[r,c] = clamp((x[r,c] * mult[c] + offset[c]) >> shift[c]). Every row must equal this, bit for bit.
#pragma once
#include "ops/affine/params.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

inline void affine_reference(const AffineParams& p, const AffineChannel* t, const int8_t* x, int8_t* y) {
  for (uint32_t r = 0; r < p.rows; r++)
    for (uint32_t c = 0; c < p.channels; c++) {
      const uint32_t sum = uint32_t(*x++) * uint32_t(t[c].mult) + uint32_t(t[c].offset);
      *y++ = int8_t(clamp(int32_t(sum) >> (t[c].shift & 31), p.lo, p.hi));
    }
}

// Common to all rows.
inline bool affine_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(AffineParams) || c->operands != 2) return false;
  const AffineParams& p = *static_cast<const AffineParams*>(c->params);
  const uint64_t count = uint64_t(p.rows) * p.channels;
  if (count == 0 || count != c->operand_bytes[0] || count != c->operand_bytes[1] || p.lo > p.hi) return false;
  return in_image(c, p.tables, p.channels, sizeof(AffineChannel), 4);
}

}  // namespace corten
