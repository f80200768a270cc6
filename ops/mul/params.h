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

// vqdmulh and vrshl are requantise() from shift 1 on: every factor below 1/2, which a product of two int8 has unless it saturates
// widely.
constexpr bool mul_fits_mve(const MulParams& p) { return p.scale.shift >= 1 && has_unit_steps(p.shape); }

}  // namespace corten
