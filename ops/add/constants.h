// The integers of AddParams from real scales and zero points. For the compiler and the tests.
#pragma once
#include <cmath>

#include "ops/add/params.h"

namespace corten {

// The real result in output steps is v = (a - a_zero) * ra + (b - b_zero) * rb + out_zero with ra = a_scale / out_scale, rb
// likewise; rounded half up it is floor(v + 1/2). With A = round(ra * 2^S), B = round(rb * 2^S), C = round((out_zero - a_zero * ra
// - b_zero * rb + 1/2) * 2^S) the integer form differs from v + 1/2 by at most (128 / 2 + 128 / 2 + 1/2) * 2^-S before the floor,
// so it rounds another way only for a v that close to a tie. S is the largest for which A * a + B * b + C fits 32 bits for every a
// and b: about 2^21 for ratios near 1, where at most one pair in 2^13 is off, by one. A subtraction passes b_scale negated, a
// factor (alpha) multiplies the scale.
inline AddParams make_add(double a_scale, int a_zero, double b_scale, int b_zero, double out_scale, int out_zero, int lo, int hi) {
  constexpr double kMost = 4194304;  // 2^22: beyond it any operand step saturates the output, and shift 0 fits
  const auto ratio = [&](double scale) { return std::fmax(-kMost, std::fmin(kMost, scale / out_scale)); };
  const double ra = ratio(a_scale), rb = ratio(b_scale);
  const auto least = [](double m) { return m > 0 ? -128 * m : 127 * m; };
  AddParams p = {};
  for (int shift = 31; shift >= 0; shift--) {
    const double unit = std::ldexp(1.0, shift), a = std::round(ra * unit), b = std::round(rb * unit);
    const double c = std::round((out_zero - a_zero * ra - b_zero * rb + 0.5) * unit);
    const double low = least(a) + least(b) + c, high = c - least(-a) - least(-b);
    const bool fits = low >= -2147483648.0 && high <= 2147483647.0;
    if (!fits || std::fabs(a) > 2147483647.0 || std::fabs(b) > 2147483647.0 || std::fabs(c) > 2147483647.0) continue;
    p.a_mult = int32_t(a), p.b_mult = int32_t(b), p.offset = int32_t(c), p.shift = uint8_t(shift);
    break;
  }
  p.lo = int8_t(lo), p.hi = int8_t(hi);
  return p;
}

}  // namespace corten
