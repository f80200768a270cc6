// concat, int8: params.h states it. Every row must equal this.
#pragma once
#include "ops/concat/params.h"
#include "runtime/kernel.h"

namespace corten {

inline void concat_reference(const ConcatParams& p, const int8_t* const* in, int8_t* y) {
  for (uint32_t o = 0; o < p.outer; o++)
    for (uint32_t k = 0; k < p.inputs; k++)
      for (uint32_t i = 0; i < p.inner[k]; i++) *y++ = in[k][o * p.inner[k] + i];
}

// Common to all rows.
inline bool concat_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(ConcatParams)) return false;
  const ConcatParams& p = *static_cast<const ConcatParams*>(c->params);
  if (p.outer == 0 || p.inputs == 0 || p.inputs > kConcatMost || c->operands != p.inputs + 1) return false;
  uint64_t total = 0;
  for (uint32_t k = 0; k < p.inputs; k++) {
    const uint64_t bytes = uint64_t(p.outer) * p.inner[k];
    if (bytes == 0 || bytes != c->operand_bytes[k]) return false;
    total += bytes;
  }
  return total == c->operand_bytes[p.inputs];
}

}  // namespace corten
