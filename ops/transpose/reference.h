// transpose, int8: the strided copy of runtime/strided.h. Every row must equal this.
#pragma once
#include "ops/transpose/params.h"
#include "runtime/kernel.h"

namespace corten {

inline void transpose_reference(const TransposeParams& p, const int8_t* x, int8_t* y) { strided_reference(p.copy, x, y); }

// Common to all rows.
inline bool transpose_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(TransposeParams) || c->operands != 2) return false;
  return strided_copy_check(static_cast<const TransposeParams*>(c->params)->copy, c->operand_bytes[0], c->operand_bytes[1]);
}

}  // namespace corten
