// linear, int8: y[r,o] = clamp(requantise(bias[o] + sum_i x[r,i] * w[o,i]) + out_zero). Every row must equal this, bit for bit.
#pragma once
#include "ops/linear/params.h"
#include "runtime/fixed.h"

namespace corten {

inline void linear_reference(const LinearParams& p, const LinearSource& w, const int8_t* x, int8_t* y) {
  for (uint32_t r = 0; r < p.rows; r++, x += p.in)
    for (uint32_t o = 0; o < p.out; o++) {
      int32_t acc = w.bias[o];
      for (uint32_t i = 0; i < p.in; i++) acc += x[i] * w.weights[o * p.in + i];
      *y++ = to_int8(requantise(acc, w.mult[o], w.shift[o]), p.out_zero, p.lo, p.hi);
    }
}

}  // namespace corten
