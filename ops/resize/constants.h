// The axes of ResizeParams. For the compiler and the tests.
#pragma once
#include <cmath>

#include "ops/resize/params.h"

namespace corten {

// scale: in / out in float32, or float(1 / scale_factor) where PyTorch is given one. Exact for every scale in [2^-39, 2^16].
inline ResizeAxis make_resize_axis(float scale, bool exact) {
  int exponent = 0;
  const float fraction = std::frexp(scale, &exponent);  // [1/2, 1)
  const int shift = 25 - exponent;
  return {uint32_t(std::ldexp(fraction, 24)), uint8_t(shift < 0 ? 0 : shift > 63 ? 63 : shift), uint8_t(exact ? 1 : 0), 0};
}

}  // namespace corten
