// quantize and dequantize, any core. Uses float32: with an FPU a few cycles an element, without one the compiler's library.
#include "ops/quantize/reference.h"

namespace corten {

extern "C" void quantize_s8_scalar(const KernelArgs* k) {
  const QuantizeParams& p = *static_cast<const QuantizeParams*>(k->params);
  quantize_reference(p, static_cast<const float*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]));
}

extern "C" bool quantize_s8_scalar_check(const CheckArgs* c) { return quantize_check(c, 0); }

extern "C" void dequantize_f32_scalar(const KernelArgs* k) {
  const QuantizeParams& p = *static_cast<const QuantizeParams*>(k->params);
  dequantize_reference(p, static_cast<const int8_t*>(k->operand[0]), static_cast<float*>(k->operand[1]));
}

extern "C" bool dequantize_f32_scalar_check(const CheckArgs* c) { return quantize_check(c, 1); }

}  // namespace corten
