// quantize and dequantize (float32 on one side). Every row must equal this, bit for bit.
#pragma once
#include "ops/quantize/params.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

// Rounds half to even without a C library: adding 1.5 * 2^23 leaves the integer in the low mantissa bits. |t| is limited first;
// what is beyond +-512 saturates whatever the zero point.
inline int8_t quantize_one(const QuantizeParams& p, float x) {
  float t = x * p.factor;
  if (t != t) return int8_t(clamp(p.zero, p.lo, p.hi));
  t = t < -512.0f ? -512.0f : t > 512.0f ? 512.0f : t;
  t += 12582912.0f;
  int32_t bits;
  __builtin_memcpy(&bits, &t, sizeof bits);  // -ffreestanding turns a plain memcpy into a call
  return int8_t(clamp(bits - 0x4B400000 + p.zero, p.lo, p.hi));
}
inline float dequantize_one(const QuantizeParams& p, int8_t x) { return float(x - p.zero) * p.factor; }

inline void quantize_reference(const QuantizeParams& p, const float* x, int8_t* y) {
  for (uint32_t i = 0; i < p.count; i++) y[i] = quantize_one(p, x[i]);
}
inline void dequantize_reference(const QuantizeParams& p, const int8_t* x, float* y) {
  for (uint32_t i = 0; i < p.count; i++) y[i] = dequantize_one(p, x[i]);
}

inline bool quantize_check(const CheckArgs* c, uint8_t dequantize) {
  if (c->params_bytes != sizeof(QuantizeParams) || c->operands != 2) return false;
  const QuantizeParams& p = *static_cast<const QuantizeParams*>(c->params);
  const uint32_t floats = c->operand_bytes[dequantize], ints = c->operand_bytes[1 - dequantize];
  return p.dequantize == dequantize && p.count != 0 && p.lo <= p.hi && ints == p.count && floats == uint64_t(p.count) * 4;
}

}  // namespace corten
