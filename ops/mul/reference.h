// mul, int8: y = clamp(requantise((a - a_zero) * (b - b_zero)) + out_zero). Every row must equal this, bit for bit.
#pragma once
#include "ops/mul/params.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

inline int8_t mul_one(const MulParams& p, int8_t a, int8_t b) {
  const int32_t product = (a - p.a_zero) * (b - p.b_zero);
  return to_int8(requantise(product, p.scale.mult, p.scale.shift), p.out_zero, p.lo, p.hi);
}

inline void mul_reference(const MulParams& p, const int8_t* a, const int8_t* b, int8_t* y) {
  for (uint32_t i = 0; i < p.shape.count; i++)
    y[i] = mul_one(p, a[broadcast_index(p.shape, p.shape.a_stride, i)], b[broadcast_index(p.shape, p.shape.b_stride, i)]);
}

// requantise() for shift >= 1 in 32 bits; the product of two differences has 17.
constexpr bool mul_is_short(const MulParams& p) { return p.scale.shift >= 1; }

// Common to all rows.
inline bool mul_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(MulParams) || c->operands != 3) return false;
  const MulParams& p = *static_cast<const MulParams*>(c->params);
  return scale_ok(p.scale) && p.lo <= p.hi &&
         broadcast_check(p.shape, c->operand_bytes[0], c->operand_bytes[1], c->operand_bytes[2]);
}

}  // namespace corten
