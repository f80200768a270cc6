// transpose, int8: the i-th block of y is the block of x at offset + i . stride. Every row must equal this.
#pragma once
#include "ops/transpose/params.h"
#include "runtime/kernel.h"

namespace corten {

inline void transpose_reference(const TransposeParams& p, const int8_t* x, int8_t* y) {
  const StridedCopy& s = p.copy;
  uint32_t blocks = 1;
  for (int32_t d = 0; d < 6; d++) blocks *= s.extent[d];
  for (uint32_t i = 0; i < blocks; i++) {
    int64_t from = s.offset;
    uint32_t rest = i;
    for (int32_t d = 5; d >= 0; d--) from += int64_t(rest % s.extent[d]) * s.stride[d], rest /= s.extent[d];
    for (uint32_t b = 0; b < s.block; b++) *y++ = x[from + b];
  }
}

// Common to all rows.
inline bool transpose_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(TransposeParams) || c->operands != 2) return false;
  return strided_copy_check(static_cast<const TransposeParams*>(c->params)->copy, c->operand_bytes[0], c->operand_bytes[1]);
}

}  // namespace corten
