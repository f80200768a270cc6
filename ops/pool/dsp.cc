// pool on DSP cores: four channels in a word.
#include "ops/pool/loops.h"
#include "ops/pool/reference.h"
#include "runtime/simd.h"

namespace corten {
namespace {

struct Sums {
  int32_t sum[4];
};

// Adds n taps of four channels, `step` bytes apart; 255 at a time in pairs of 16 bits.
void add_run(Sums& s, const int8_t* tap, int32_t n, int32_t step) {
  while (n > 0) {
    int32_t block = n < 255 ? n : 255;
    n -= block;
    uint32_t even = 0, odd = 0;
    for (; block >= 2; block -= 2, tap += 2 * step) {
      const uint32_t first = load4(tap), second = load4(tap + step);
      even = sxtab16(sxtab16(even, first), second), odd = sxtab16_ror8(sxtab16_ror8(odd, first), second);
    }
    if (block > 0) {
      const uint32_t word = load4(tap);
      even = sxtab16(even, word), odd = sxtab16_ror8(odd, word), tap += step;
    }
    s.sum[0] += int16_t(even), s.sum[2] += int32_t(even) >> 16;
    s.sum[1] += int16_t(odd), s.sum[3] += int32_t(odd) >> 16;
  }
}

Sums window_sums(const PoolWindow& w, int32_t c) {
  Sums s = {};
  const int8_t* row = w.x + c;
  for (int32_t i = 0; i < w.rows; i++, row += w.row_step) add_run(s, row, w.columns, w.column_step);
  return s;
}

uint32_t window_max(const PoolWindow& w, int32_t c) {
  uint32_t most = 0x80808080u;
  const int8_t* row = w.x + c;
  for (int32_t i = 0; i < w.rows; i++, row += w.row_step) {
    const int8_t* tap = row;
    for (int32_t j = 0; j < w.columns; j++, tap += w.column_step) most = max4(most, load4(tap));
  }
  return most;
}

// Pixels apart from the loop over them, which would take their registers.
__attribute__((noinline)) void max_pixel(const PoolParams& p, const PoolWindow& w, int8_t* y) {
  const uint32_t lo = uint8_t(p.lo) * 0x01010101u, hi = uint8_t(p.hi) * 0x01010101u;
  for (int32_t c = 0; c < p.c; c += 4) store4(y + c, min4(max4(window_max(w, c), lo), hi));
}

__attribute__((noinline)) void average_pixel(const PoolParams& p, const Scale* scales, const PoolWindow& w, int8_t* y) {
  const Scale scale = pool_window_scale(p, scales, w);
  const int32_t zeros = w.rows * w.columns * p.in_zero;
  for (int32_t c = 0; c < p.c; c += 4) {
    const Sums s = window_sums(w, c);
    for (int32_t i = 0; i < 4; i++) y[c + i] = to_int8(requantise(s.sum[i] - zeros, scale), p.out_zero, p.lo, p.hi);
  }
}

}  // namespace

extern "C" void pool_s8_dsp_max(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  for_each_window(p, static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]),
                  [&p](const PoolWindow& w, int8_t* y) { max_pixel(p, w, y); });
}

extern "C" bool pool_s8_dsp_max_check(const CheckArgs* a) {
  return pool_check(a, kPoolMax) && static_cast<const PoolParams*>(a->params)->c % 4 == 0;
}

extern "C" void pool_s8_dsp_average(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  const Scale* scales = at<Scale>(k, p.scales);
  for_each_window(p, static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]),
                  [&p, scales](const PoolWindow& w, int8_t* y) { average_pixel(p, scales, w, y); });
}

extern "C" bool pool_s8_dsp_average_check(const CheckArgs* a) {
  return pool_check(a, kPoolAverage) && static_cast<const PoolParams*>(a->params)->c % 4 == 0;
}

}  // namespace corten
