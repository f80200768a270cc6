// pool, any core: the rows that take everything.
#include "ops/pool/loops.h"
#include "ops/pool/reference.h"
#include "runtime/copy.h"

namespace corten {
namespace {

// y = max(x, y), channel by channel.
void keep_larger(const int8_t* x, int8_t* y, int32_t n) {
  x += n, y += n;
  for (int32_t i = -n; i < 0; i++)
    if (x[i] > y[i]) y[i] = x[i];
}

// Pixels apart from the loop over them, which would take their registers. Tap by tap, so that the inner loop is the long one.
__attribute__((noinline)) void max_pixel(const PoolParams& p, const PoolWindow& w, int8_t* y) {
  const int32_t channels = p.c;
  if (w.rows > 0) {
    copy_bytes(y, w.x, uint32_t(channels));
  } else {
    for (int32_t c = 0; c < channels; c++) y[c] = -128;
  }
  const int8_t* row = w.x;
  for (int32_t i = 0; i < w.rows; i++, row += w.row_step) {
    const int8_t* tap = row;
    for (int32_t j = w.columns; j > 0; j--, tap += w.column_step) keep_larger(tap, y, channels);
  }
  if (p.lo == -128 && p.hi == 127) return;
  for (int32_t c = 0; c < channels; c++) y[c] = int8_t(clamp(y[c], p.lo, p.hi));
}

int32_t window_sum(const PoolWindow& w, int32_t c) {
  int32_t sum = 0;
  const int8_t* row = w.x + c;
  for (int32_t i = 0; i < w.rows; i++, row += w.row_step) {
    const int8_t* tap = row;
    for (int32_t j = w.columns; j > 0; j--, tap += w.column_step) sum += *tap;
  }
  return sum;
}

__attribute__((noinline)) void average_pixel(const PoolParams& p, const Scale* scales, const PoolWindow& w, int8_t* y) {
  const Scale scale = pool_window_scale(p, scales, w);
  const int32_t zeros = w.rows * w.columns * p.in_zero;
  for (int32_t c = 0; c < p.c; c++) y[c] = to_int8(requantise(window_sum(w, c) - zeros, scale), p.out_zero, p.lo, p.hi);
}

}  // namespace

extern "C" void pool_s8_scalar_max(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  for_each_window(p, static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]),
                  [&p](const PoolWindow& w, int8_t* y) { max_pixel(p, w, y); });
}

extern "C" bool pool_s8_scalar_max_check(const CheckArgs* a) { return pool_check(a, kPoolMax); }

extern "C" void pool_s8_scalar_average(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  const Scale* scales = at<Scale>(k, p.scales);
  for_each_window(p, static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]),
                  [&p, scales](const PoolWindow& w, int8_t* y) { average_pixel(p, scales, w, y); });
}

extern "C" bool pool_s8_scalar_average_check(const CheckArgs* a) { return pool_check(a, kPoolAverage); }

}  // namespace corten
