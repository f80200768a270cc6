// The table and integers of SoftmaxParams. For the compiler and the tests.
#pragma once
#include <cmath>

#include "ops/softmax/params.h"

namespace corten {

// Each entry is off by at most 2^-32 of the largest, so the rounded product of two by 2^-30. A sum of n of these is at least 2^31
// (the maximum's own), so its relative error is at most n * 2^-30: with a million elements still 2^-10.
inline void softmax_table(double in_scale, uint32_t* table) {
  for (int d = 0; d < 16; d++) {
    table[d] = uint32_t(std::exp(-16 * d * in_scale) * 0x1p31 + 0.5);
    table[16 + d] = uint32_t(std::exp(-d * in_scale) * 0x1p31 + 0.5);
  }
}

// softmax: the division adds a relative error below 2^-28, so below 2^-20 output steps where the result does not saturate.
inline SoftmaxParams make_softmax(uint32_t outer, uint32_t n, uint32_t inner, double out_scale, int out_zero, int lo, int hi) {
  SoftmaxParams p = {};
  p.outer = outer, p.n = n, p.inner = inner, p.scale = make_scale(1 / out_scale);
  p.out_zero = int8_t(out_zero), p.lo = int8_t(lo), p.hi = int8_t(hi);
  return p;
}

// log_softmax: d * mult is off by at most 255 / 2 * 2^-shift output steps, and log2 of the sum by 2^-23, so by ln 2 / out_scale *
// 2^-23 steps. shift is the largest up to 30 for which both multipliers fit 31 bits.
inline SoftmaxParams make_log_softmax(uint32_t outer, uint32_t n, uint32_t inner, double in_scale, double out_scale, int out_zero,
                                      int lo, int hi) {
  SoftmaxParams p = make_softmax(outer, n, inner, out_scale, out_zero, lo, hi);
  const double step = in_scale / out_scale, log_step = std::log(2.0) / out_scale;
  int32_t shift = 30;
  while (shift > 0 && std::ldexp(std::fmax(step, log_step), shift) >= 2147483647.0) shift--;
  const auto fixed = [shift](double v) { return int32_t(std::fmin(std::round(std::ldexp(v, shift)), 2147483647.0)); };
  p.scale = {fixed(step), shift}, p.log_mult = fixed(log_step), p.log = 1;
  return p;
}

}  // namespace corten
