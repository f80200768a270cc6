// What the compiler stores for one addition or subtraction, and what its kernels read.
#pragma once
#include <stdint.h>

#include "runtime/broadcast.h"

namespace corten {

// y[i] = clamp((a[i] * a_mult + b[i] * b_mult + offset) >> shift), operands broadcast as `shape` says, int8. The sum is computed
// modulo 2^32; constants.h chooses the integers so that it fits. Operands: a, b, y.
struct AddParams {
  Broadcast shape;
  int32_t a_mult, b_mult, offset;
  uint8_t shift;  // 0..31
  int8_t lo, hi;
  uint8_t reserved;
};
static_assert(sizeof(AddParams) == 68, "part of the image format");

constexpr bool add_saturates(const AddParams& p) { return p.lo == -128 && p.hi == 127; }  // no narrower clamp

}  // namespace corten
