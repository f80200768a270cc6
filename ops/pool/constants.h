// The scales of PoolParams. For the compiler and the tests.
#pragma once
#include "ops/pool/params.h"

namespace corten {

// The window sum is exact; the one rounding is requantise()'s, whose factor is 2^-28 below in_scale / (out_scale * divisor):
// another result than the real one's only within 2^-20 of a tie. With equal scales a mean of 64 values is an exact tie once in 64;
// PyTorch's float32 sum falls to either side of it, a little more often below (12 against 14 mismatches of 26 on ResNet-8): so ties
// go down.
inline Scale pool_scale(double in_scale, double out_scale, int64_t divisor) {
  return divisor > 0 ? make_scale(in_scale / (out_scale * double(divisor)) * (1 - 0x1p-28)) : Scale{0, 31};
}

// Largest adaptive window of an axis: k_h or k_w of an adaptive pooling.
inline int32_t pool_adaptive_k(int32_t in, int32_t out) {
  PoolWalk walk = {{uint16_t(in), uint16_t(out), 0, 1, 0, 0, 1, true}};
  int32_t most = 0;
  for (int32_t i = 0; i < out; i++) {
    const int32_t count = walk.next().count;
    most = count > most ? count : most;
  }
  return most;
}

// Sets divisor, scale and, where it is needed, fills table (k_h * k_w + 1 entries; null to ask whether it is: see
// pool_table_entries). Shapes, windows and `adaptive` are set. divisor_override 0: none, as in PyTorch.
inline void make_pool_average(PoolParams& p, double in_scale, double out_scale, bool count_include_pad, int64_t divisor_override,
                              Scale* table) {
  p.kind = kPoolAverage, p.divisor = kPoolFixed, p.scale = pool_scale(in_scale, out_scale, divisor_override);
  if (divisor_override > 0) return;
  int64_t common = -1;
  PoolWalk rows = {pool_rows(p)};
  for (int32_t y = 0; y < p.out_h; y++) {
    const PoolSpan r = rows.next();
    PoolWalk columns = {pool_columns(p)};
    for (int32_t x = 0; x < p.out_w; x++) {
      const PoolSpan c = columns.next();
      const int64_t divisor = count_include_pad ? int64_t(r.padded) * c.padded : int64_t(r.count) * c.count;
      if (common < 0) common = divisor;
      if (divisor != common) p.divisor = count_include_pad ? kPoolPadded : kPoolInside;
    }
  }
  if (p.divisor == kPoolFixed) p.scale = pool_scale(in_scale, out_scale, common);
  if (table)
    for (uint32_t d = 0; d < pool_table_entries(p); d++) table[d] = pool_scale(in_scale, out_scale, d);
}

}  // namespace corten
