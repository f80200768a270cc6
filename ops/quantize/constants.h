// QuantizeParams from a scale and a zero point. For the compiler and the tests.
#pragma once
#include "ops/quantize/params.h"

namespace corten {

// PyTorch multiplies by the inverse of the scale, taken in double and rounded to float32 once: the same bytes, always.
inline QuantizeParams make_quantize(uint32_t count, double scale, int zero, int lo, int hi) {
  return {count, float(1.0 / scale), int8_t(zero), int8_t(lo), int8_t(hi), 0};
}
inline QuantizeParams make_dequantize(uint32_t count, double scale, int zero) {
  return {count, float(scale), int8_t(zero), -128, 127, 1};
}

}  // namespace corten
