// The tables of AffineParams from real weights, scales and zero points. For the compiler and the tests.
#pragma once
#include <cmath>

#include "ops/affine/params.h"

namespace corten {

// The real result in output steps is v = (x - in_zero) * w * in_scale / out_scale + b / out_scale + out_zero. As in an addition the
// integers are nearest at the largest shift S for which x * mult + offset fits 32 bits: they are off by at most (128 / 2 + 1/2) *
// 2^-S before the floor, so v + 1/2 rounds another way only that close to a tie (S is about 22 for a factor near 1). A channel
// whose offset alone saturates by far has its v limited to +-2^30 first.
inline AffineChannel make_affine(double weight, double bias, double in_scale, int in_zero, double out_scale, int out_zero) {
  constexpr double kMost = 4194304, kFar = 1073741824;  // 2^22, 2^30
  const double factor = std::fmax(-kMost, std::fmin(kMost, weight * in_scale / out_scale));
  const double zero = std::fmax(-kFar, std::fmin(kFar, bias / out_scale + out_zero - in_zero * factor)) + 0.5;
  AffineChannel t = {};
  for (int shift = 31; shift >= 0; shift--) {
    const double unit = std::ldexp(1.0, shift), m = std::round(factor * unit), c = std::round(zero * unit);
    const double reach = 128 * std::fabs(m) + std::fabs(c);
    if (reach > 2147483647.0) continue;
    t = {int32_t(m), int32_t(c), uint32_t(shift)};
    break;
  }
  return t;
}

}  // namespace corten
