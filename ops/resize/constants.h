// The steps of ResizeParams. For the compiler and the tests.
#pragma once
#include <cmath>

#include "ops/resize/params.h"

namespace corten {

// PyTorch's source index: min(floor(i * scale), in - 1), nearest-exact: min(floor((i + 1/2) * scale), in - 1), all in float32,
// where scale is in / out, or 1 / scale_factor where that is given.
inline uint32_t resize_source(uint32_t i, float scale, uint32_t in, bool exact) {
  const float at = exact ? (float(i) + 0.5f) * scale : float(i) * scale;
  const uint32_t source = uint32_t(std::floor(at));
  return source < in ? source : in - 1;
}

// start and step (of 2^24) that give PyTorch's index for every one of the `out` positions. The indices bound the step: position i
// must not pass its own index nor fall short of it; a step within those bounds is equal to PyTorch, not merely near. False if there
// is none.
inline bool make_resize_axis(uint32_t in, uint32_t out, float scale, bool exact, uint32_t* start, uint32_t* step) {
  const double unit = 16777216;
  double begin = exact ? 0.5 * scale * unit : 0, low = 0, high = 4294967295.0;
  begin = std::floor(begin);
  for (uint32_t i = 1; i < out; i++) {
    const uint32_t source = resize_source(i, scale, in, exact);
    low = std::fmax(low, (source * unit - begin) / i);
    if (source + 1 < in) high = std::fmin(high, ((source + 1) * unit - 1 - begin) / i);
  }
  const double wanted = std::round(double(scale) * unit);
  const double least = std::ceil(low), most = std::floor(high);
  if (least > most || begin > 4294967295.0) return false;
  *start = uint32_t(begin), *step = uint32_t(std::fmax(least, std::fmin(most, wanted)));
  return resize_source(0, scale, in, exact) == (begin / unit < in ? uint32_t(begin / unit) : in - 1);
}

}  // namespace corten
