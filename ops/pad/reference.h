// pad, int8: params.h states it. Every row must equal this.
#pragma once
#include "ops/pad/params.h"
#include "runtime/kernel.h"
#include "runtime/strided.h"

namespace corten {

inline void pad_reference(const PadParams& p, const int8_t* x, int8_t* y) {
  uint32_t count = 1;
  for (int32_t d = 0; d < 6; d++) count *= p.out[d];
  for (uint32_t i = 0; i < count; i++) {
    uint32_t rest = i;
    int64_t from = 0, stride = 1;
    bool inside = true;
    for (int32_t d = 5; d >= 0; d--) {
      const int32_t source = pad_source(p.mode, int32_t(rest % p.out[d]) - p.before[d], int32_t(p.in[d]));
      inside = inside && source >= 0;
      from += source * stride, stride *= p.in[d], rest /= p.out[d];
    }
    y[i] = inside ? x[from] : p.value;
  }
}

// Common to all rows.
inline bool pad_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(PadParams) || c->operands != 2) return false;
  const PadParams& p = *static_cast<const PadParams*>(c->params);
  uint32_t in = 0, out = 0;
  if (!extents_ok(p.in, 6, &in) || !extents_ok(p.out, 6, &out) || in != c->operand_bytes[0] || out != c->operand_bytes[1])
    return false;
  constexpr int32_t kMost = (1 << 30) - 1;  // so that no sum of two positions overflows
  if (in > uint32_t(kMost) || out > uint32_t(kMost) || p.mode > kPadCircular) return false;
  for (int32_t d = 0; d < 6; d++) {
    const int64_t n = p.in[d], first = -int64_t(p.before[d]), last = first + p.out[d] - 1;
    if (first < -kMost || first > kMost) return false;
    if (p.mode == kPadReflect && (first < 1 - n || last > 2 * (n - 1))) return false;
    if (p.mode == kPadCircular && (first < -n || last > 2 * n - 1)) return false;
  }
  return true;
}

}  // namespace corten
