// slice, int8: the strided copy of runtime/strided.h. Every row must equal this.
#pragma once
#include "ops/slice/params.h"
#include "runtime/kernel.h"

namespace corten {

inline void slice_reference(const SliceParams& p, const int8_t* x, int8_t* y) { strided_reference(p.copy, x, y); }

// Common to all rows.
inline bool slice_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(SliceParams) || c->operands != 2) return false;
  return strided_copy_check(static_cast<const SliceParams*>(c->params)->copy, c->operand_bytes[0], c->operand_bytes[1]);
}

}  // namespace corten
