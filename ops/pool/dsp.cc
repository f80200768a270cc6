// pool on DSP cores: four channels in a word.
#include "ops/pool/loops.h"
#include "ops/pool/reference.h"
#include "runtime/simd.h"

namespace corten {
namespace {

// Sums of four channels, offset by 128 a tap so that the pairs do not borrow from each other.
struct Sums {
  int32_t sum[4];
};
Sums window_sums(const PoolWindow& w, int32_t c) {
  Sums s = {};
  uint32_t even = 0, odd = 0;  // pairs of 16 bits: at most 255 taps of at most 255
  int32_t taps = 0;
  const auto flush = [&] {
    s.sum[0] += int32_t(even & 0xffff), s.sum[2] += int32_t(even >> 16);
    s.sum[1] += int32_t(odd & 0xffff), s.sum[3] += int32_t(odd >> 16);
    even = odd = 0, taps = 0;
  };
  const int8_t* row = w.x + c;
  for (int32_t i = 0; i < w.rows; i++, row += w.row_step) {
    if (taps + w.columns > 255) flush();
    taps += w.columns;
    const int8_t* tap = row;
    for (int32_t j = 0; j < w.columns; j++, tap += w.column_step) {
      const uint32_t word = load4(tap) ^ 0x80808080u;
      even += word & 0x00ff00ffu, odd += (word >> 8) & 0x00ff00ffu;
    }
  }
  flush();
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

}  // namespace

extern "C" void pool_s8_dsp_max(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  const uint32_t lo = uint8_t(p.lo) * 0x01010101u, hi = uint8_t(p.hi) * 0x01010101u;
  for_each_window(p, static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]),
                  [&p, lo, hi](const PoolWindow& w, int8_t* y) {
                    for (int32_t c = 0; c < p.c; c += 4) store4(y + c, min4(max4(window_max(w, c), lo), hi));
                  });
}

extern "C" bool pool_s8_dsp_max_check(const CheckArgs* a) {
  return pool_check(a, kPoolMax) && static_cast<const PoolParams*>(a->params)->c % 4 == 0;
}

extern "C" void pool_s8_dsp_average(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  const Scale* scales = at<Scale>(k, p.scales);
  for_each_window(p, static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]),
                  [&p, scales](const PoolWindow& w, int8_t* y) {
                    const Scale scale = pool_window_scale(p, scales, w);
                    const int32_t zeros = w.rows * w.columns * (p.in_zero + 128);
                    for (int32_t c = 0; c < p.c; c += 4) {
                      const Sums s = window_sums(w, c);
                      for (int32_t i = 0; i < 4; i++) {
                        y[c + i] = to_int8(requantise(s.sum[i] - zeros, scale), p.out_zero, p.lo, p.hi);
                      }
                    }
                  });
}

extern "C" bool pool_s8_dsp_average_check(const CheckArgs* a) {
  const PoolParams& p = *static_cast<const PoolParams*>(a->params);
  return pool_check(a, kPoolAverage) && p.c % 4 == 0 && p.k_w <= 255;
}

}  // namespace corten
