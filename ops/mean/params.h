// What the compiler stores for one mean or sum over dimensions, and what its kernels read.
#pragma once
#include <stdint.h>

#include "runtime/scale.h"

namespace corten {

// y[k] = clamp(requantise(sum over r of (x[k . kept_stride + r . reduced_stride] - in_zero), scale) + out_zero), k over the kept
// extents (y is dense over them), r over the reduced ones; int8. Unused extents lead and are 1. At most 2^23 elements per sum.
struct MeanParams {
  uint32_t kept[4];
  int32_t kept_stride[4];  // in elements
  uint32_t reduced[4];
  int32_t reduced_stride[4];
  Scale scale;  // holds the division
  int8_t in_zero, out_zero, lo, hi;
};
static_assert(sizeof(MeanParams) == 76, "part of the image format");

// Channels innermost, all else reduced: the global mean of an NHWC map (batch in kept[2]).
constexpr bool mean_is_columns(const MeanParams& p) {
  return p.kept_stride[3] == 1 && p.kept[0] == 1 && p.kept[1] == 1 && p.reduced[0] == 1 && p.reduced[1] == 1 && p.reduced[2] == 1;
}
// One dense run per output.
constexpr bool mean_is_rows(const MeanParams& p) {
  return p.reduced_stride[3] == 1 && p.reduced[0] == 1 && p.reduced[1] == 1 && p.reduced[2] == 1;
}

}  // namespace corten
