// What the compiler stores for a change between float32 and int8 at the program's border, and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

// quantize:   y[i] = clamp(round_half_even(x[i] * factor) + zero), x float32, y int8, factor = 1 / scale; a NaN becomes zero.
// dequantize: y[i] = (x[i] - zero) * factor, x int8, y float32, factor = scale.
// These kernels compute in float32; the float operand is 4-aligned.
struct QuantizeParams {
  uint32_t count;
  float factor;
  int8_t zero, lo, hi;
  uint8_t dequantize;  // 0 or 1
};
static_assert(sizeof(QuantizeParams) == 12, "part of the image format");

}  // namespace corten
