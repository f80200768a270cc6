// The integers of MulParams from real scales and zero points. For the compiler and the tests.
#pragma once
#include "ops/mul/params.h"

namespace corten {

// The product of the two differences is exact in 17 bits; the one rounding is requantise()'s, whose factor is within 2^-31 of the
// real a_scale * b_scale / out_scale: a result that does not saturate is rounded as the real one unless that is within 2^-22 of a
// tie.
inline MulParams make_mul(double a_scale, int a_zero, double b_scale, int b_zero, double out_scale, int out_zero, int lo, int hi) {
  MulParams p = {};
  p.scale = make_scale(a_scale * b_scale / out_scale);
  p.a_zero = int8_t(a_zero), p.b_zero = int8_t(b_zero), p.out_zero = int8_t(out_zero), p.lo = int8_t(lo), p.hi = int8_t(hi);
  return p;
}

}  // namespace corten
