// resize, int8, nearest neighbour: params.h states it. Every row must equal this.
#pragma once
#include "ops/resize/params.h"
#include "runtime/kernel.h"

namespace corten {

inline void resize_reference(const ResizeParams& p, const int8_t* x, int8_t* y) {
  for (uint32_t n = 0; n < p.n; n++, x += uint32_t(p.in_h) * p.in_w * p.c)
    for (uint32_t i = 0; i < p.out_h; i++)
      for (uint32_t j = 0; j < p.out_w; j++) {
        const uint32_t row = resize_index(p.rows, i, p.in_h), column = resize_index(p.columns, j, p.in_w);
        for (uint32_t c = 0; c < p.c; c++) *y++ = x[(row * p.in_w + column) * p.c + c];
      }
}

// Common to all rows.
inline bool resize_check(const CheckArgs* a) {
  if (a->params_bytes != sizeof(ResizeParams) || a->operands != 2) return false;
  const ResizeParams& p = *static_cast<const ResizeParams*>(a->params);
  if (!p.n || !p.in_h || !p.in_w || !p.c || !p.out_h || !p.out_w || p.rows.shift > 63 || p.columns.shift > 63) return false;
  const uint64_t in = uint64_t(p.in_h) * p.in_w * p.c, out = uint64_t(p.out_h) * p.out_w * p.c;
  return in <= INT32_MAX && out <= INT32_MAX && in * p.n == a->operand_bytes[0] && out * p.n == a->operand_bytes[1];
}

}  // namespace corten
