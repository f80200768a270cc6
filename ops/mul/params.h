// What the compiler stores for one multiplication, and what its kernels read.
#pragma once
#include <stdint.h>

#include "runtime/broadcast.h"
#include "runtime/scale.h"

namespace corten {

// y[i] = clamp(requantise((a[i] - a_zero) * (b[i] - b_zero), scale) + out_zero), operands broadcast as `shape` says, int8.
// Operands: a, b, y.
struct MulParams {
  Broadcast shape;
  Scale scale;
  int8_t a_zero, b_zero, out_zero, lo, hi;
  uint8_t reserved[3];
};
static_assert(sizeof(MulParams) == 68, "part of the image format");

}  // namespace corten
