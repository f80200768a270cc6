// pool, int8: params.h states the equation. Every row must equal this, bit for bit.
#pragma once
#include "ops/pool/params.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

// scales: the table, or null where the divisor is fixed.
inline int8_t pool_one(const PoolParams& p, const Scale* scales, PoolSpan r, PoolSpan s, const int8_t* image, int32_t channel) {
  int32_t most = -128, sum = 0;
  for (int32_t i = 0; i < r.count; i++)
    for (int32_t j = 0; j < s.count; j++) {
      const int32_t v = image[((r.first + i * p.dil_h) * p.in_w + s.first + j * p.dil_w) * p.c + channel];
      most = v > most ? v : most;
      sum += v - p.in_zero;
    }
  if (p.kind == kPoolMax) return int8_t(clamp(most, p.lo, p.hi));
  const Scale scale = p.divisor == kPoolFixed    ? p.scale
                      : p.divisor == kPoolInside ? scales[r.count * s.count]
                                                 : scales[r.padded * s.padded];
  return to_int8(requantise(sum, scale), p.out_zero, p.lo, p.hi);
}

inline void pool_reference(const PoolParams& p, const Scale* scales, const int8_t* x, int8_t* y) {
  for (int32_t n = 0; n < p.n; n++, x += p.in_h * p.in_w * p.c) {
    PoolWalk rows = {pool_rows(p)};
    for (int32_t oy = 0; oy < p.out_h; oy++) {
      const PoolSpan r = rows.next();
      PoolWalk columns = {pool_columns(p)};
      for (int32_t ox = 0; ox < p.out_w; ox++) {
        const PoolSpan s = columns.next();
        for (int32_t c = 0; c < p.c; c++) *y++ = pool_one(p, scales, r, s, x, c);
      }
    }
  }
}

__attribute__((noinline)) inline bool pool_axis_ok(const PoolAxis& a) {
  if (a.in == 0 || a.out == 0 || a.k == 0 || a.stride == 0 || a.dil == 0) return false;
  if (!a.adaptive) return int64_t(a.out - 1) * a.stride + int64_t(a.k) * a.dil <= INT32_MAX;
  PoolWalk walk = {a};  // k bounds every window: the table's index depends on it
  for (int32_t i = 0; i < a.out; i++)
    if (walk.next().count > a.k) return false;
  return a.dil == 1;
}

// Common to all rows; each row adds which kind it is for.
__attribute__((noinline)) inline bool pool_check(const CheckArgs* a, uint8_t kind) {
  if (a->params_bytes != sizeof(PoolParams) || a->operands != 2) return false;
  const PoolParams& p = *static_cast<const PoolParams*>(a->params);
  if (p.kind != kind || p.divisor > kPoolPadded || p.lo > p.hi || !scale_ok(p.scale)) return false;
  if (!p.n || !p.c || !pool_axis_ok(pool_rows(p)) || !pool_axis_ok(pool_columns(p))) return false;
  const uint64_t in = uint64_t(p.in_h) * p.in_w * p.c, out = uint64_t(p.out_h) * p.out_w * p.c;
  if (in > INT32_MAX || out > INT32_MAX || in * p.n != a->operand_bytes[0] || out * p.n != a->operand_bytes[1]) return false;
  if (uint64_t(p.k_h) * p.k_w > 1u << 23) return false;  // 255 * 2^23 < 2^31: the sum fits
  if (kind == kPoolAverage && (p.dil_h != 1 || p.dil_w != 1)) return false;
  return p.divisor == kPoolFixed || in_image(a, p.scales, pool_table_entries(p), sizeof(Scale), 4);
}

}  // namespace corten
