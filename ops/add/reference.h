// add, int8: y = clamp((a * A + b * B + C) >> S), the sum modulo 2^32, the shift arithmetic. Every row must equal this, bit for
// bit.
#pragma once
#include "ops/add/params.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

inline int8_t add_one(const AddParams& p, int8_t a, int8_t b) {
  const uint32_t sum = uint32_t(p.offset) + uint32_t(a) * uint32_t(p.a_mult) + uint32_t(b) * uint32_t(p.b_mult);
  return int8_t(clamp(int32_t(sum) >> p.shift, p.lo, p.hi));
}

inline void add_reference(const AddParams& p, const int8_t* a, const int8_t* b, int8_t* y) {
  for (uint32_t i = 0; i < p.shape.count; i++)
    y[i] = add_one(p, a[broadcast_index(p.shape, p.shape.a_stride, i)], b[broadcast_index(p.shape, p.shape.b_stride, i)]);
}

// Common to all rows.
inline bool add_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(AddParams) || c->operands != 3) return false;
  const AddParams& p = *static_cast<const AddParams*>(c->params);
  return p.shift <= 31 && p.lo <= p.hi && broadcast_check(p.shape, c->operand_bytes[0], c->operand_bytes[1], c->operand_bytes[2]);
}

}  // namespace corten
