// mean, int8: params.h states the equation. Every row must equal this, bit for bit.
#pragma once
#include "ops/mean/params.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"
#include "runtime/strided.h"

namespace corten {

inline void mean_reference(const MeanParams& p, const int8_t* x, int8_t* y) {
  const auto position = [](const uint32_t* extent, const int32_t* stride, uint32_t i) {
    int64_t at = 0;
    for (int32_t d = 3; d >= 0; d--) at += int64_t(i % extent[d]) * stride[d], i /= extent[d];
    return at;
  };
  const uint32_t kept = p.kept[0] * p.kept[1] * p.kept[2] * p.kept[3];
  const uint32_t reduced = p.reduced[0] * p.reduced[1] * p.reduced[2] * p.reduced[3];
  for (uint32_t k = 0; k < kept; k++) {
    const int8_t* from = x + position(p.kept, p.kept_stride, k);
    int32_t sum = 0;
    for (uint32_t r = 0; r < reduced; r++) sum += from[position(p.reduced, p.reduced_stride, r)] - p.in_zero;
    y[k] = to_int8(requantise(sum, p.scale.mult, p.scale.shift), p.out_zero, p.lo, p.hi);
  }
}

// Calls one(x) for every kept position in order, x where its sum starts.
template <class One>
inline void for_each_kept(const MeanParams& p, const int8_t* x, One one) {
  uint32_t index[4] = {};
  for (;;) {
    one(x);
    int32_t d = 3;
    for (; d >= 0 && ++index[d] == p.kept[d]; d--) {
      index[d] = 0;
      x -= int32_t(p.kept[d] - 1) * p.kept_stride[d];
    }
    if (d < 0) return;
    x += p.kept_stride[d];
  }
}

// Common to all rows.
inline bool mean_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(MeanParams) || c->operands != 2) return false;
  const MeanParams& p = *static_cast<const MeanParams*>(c->params);
  uint32_t kept = 0, reduced = 0;
  if (!extents_ok(p.kept, 4, &kept) || !extents_ok(p.reduced, 4, &reduced) || kept != c->operand_bytes[1] || reduced > 1u << 23)
    return false;
  if (uint64_t(kept) * reduced != c->operand_bytes[0] || !scale_ok(p.scale) || p.lo > p.hi) return false;
  uint32_t extent[8];
  int32_t stride[8];
  for (int32_t d = 0; d < 4; d++) {
    extent[d] = p.kept[d], stride[d] = p.kept_stride[d];
    extent[d + 4] = p.reduced[d], stride[d + 4] = p.reduced_stride[d];
  }
  return strides_ok(extent, stride, 8, 0, 1, c->operand_bytes[0]);
}

}  // namespace corten
