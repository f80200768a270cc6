// Finds the ShortScale of a channel, in the compiler and in tests.
//
// With M = high * 2^kShortBits + low a ShortScale's output is floor((acc * M + add * 2^kShortBits) / 2^(kShortBits + shift)),
// which never falls as acc rises. So it equals requantise() for all accumulators in reach if it does on both sides of each output's
// threshold. The search tries multipliers near the exact one until an `add` exists with which that holds.
#pragma once
#include <stdint.h>

#include "runtime/dsp_scale.h"
#include "runtime/scalar_scale.h"

namespace corten {

// What a layer's outputs have in common.
struct OutputRange {
  int32_t zero, lo, hi;
};

inline int64_t ceiling_of(int64_t a, int32_t bits) { return -(-a >> bits); }

// The interval of `add` that is right for multiplier m, and with which nothing leaves 32 bits.
struct AddInterval {
  int64_t lo, hi;
};
inline AddInterval short_interval(const Reach& r, const ChannelScale& c, const OutputRange& out, int64_t m, int32_t shift) {
  const auto exact = [&](int64_t acc) { return requantise(int32_t(acc), c.mult, c.shift) + out.zero; };
  const int64_t a = r.lo - c.bias, b = r.hi - c.bias;  // a <= 0 <= b
  AddInterval fit = {INT32_MIN - (a * m >> kShortBits), INT32_MAX - (b * m >> kShortBits)};
  const int64_t first = exact(r.lo), last = exact(r.hi);
  int64_t at = r.lo, step = c.mult ? (int64_t(1) << (31 + c.shift)) / c.mult - 1 : 0;
  for (int64_t k = first < out.lo ? out.lo + 1 : first + 1; k <= out.hi && k <= last && fit.lo <= fit.hi; k++) {
    if (at == r.lo) {
      at = least_accumulator(int32_t(k - out.zero), int32_t(r.lo), int32_t(r.hi), c);
    } else {
      for (at += step; exact(at) < k;) at++;
    }
    const int64_t acc = at - c.bias, goal = k << (kShortBits + shift);
    const int64_t lo = ceiling_of(goal - acc * m, kShortBits), hi = ceiling_of(goal - (acc - 1) * m, kShortBits) - 1;
    if (lo > fit.lo) fit.lo = lo;
    if (hi < fit.hi) fit.hi = hi;
  }
  // Outputs that are clamped or constant: the ends must stay there.
  const int64_t low = first < out.lo ? out.lo : first > out.hi ? out.hi : first;
  const int64_t high = last < out.lo ? out.lo : last > out.hi ? out.hi : last;
  if (low > out.lo) {
    const int64_t lo = ceiling_of((low << (kShortBits + shift)) - a * m, kShortBits);
    if (lo > fit.lo) fit.lo = lo;
  }
  if (high < out.hi) {
    const int64_t hi = ceiling_of(((high + 1) << (kShortBits + shift)) - b * m, kShortBits) - 1;
    if (hi < fit.hi) fit.hi = hi;
  }
  return fit;
}

// r: reach with the bias.
inline bool short_scale(const Reach& r, ChannelScale c, const OutputRange& out, ShortScale* s) {
  const int64_t limit = 1 << 30, a = c.bias - r.lo, b = r.hi - c.bias, furthest = a > b ? a : b;
  if (r.lo <= -limit || r.hi >= limit || furthest >= limit) return false;
  int64_t most = 130;  // outputs before the clamp
  for (int32_t end = 0; end < 2; end++) {
    const int64_t v = int64_t(requantise(int32_t(end ? r.hi : r.lo), c.mult, c.shift)) + out.zero;
    if ((v < 0 ? -v : v) + 2 > most) most = (v < 0 ? -v : v) + 2;
  }
  int32_t shift = 0;
  while (shift < 24 && most << (shift + 1) < int64_t(1) << 31) shift++;
  const int32_t down = 31 + c.shift - kShortBits - shift;  // the exact multiplier is mult / 2^down
  if (down < 0 || down > 62) return false;
  const int64_t near = down ? ((int64_t(c.mult) >> (down - 1)) + 1) >> 1 : c.mult;
  for (int32_t i = 0; i < 100; i++) {
    const int64_t m = near + (i % 2 ? (i + 1) / 2 : -(i / 2));
    const int64_t low = m & ((1 << kShortBits) - 1);
    if (m < 0 || m >> kShortBits > INT32_MAX || furthest * low > INT32_MAX) continue;
    const AddInterval fit = short_interval(r, c, out, m, shift);
    if (fit.lo > fit.hi) continue;
    *s = {int32_t(m >> kShortBits), int32_t((fit.lo + fit.hi) >> 1), uint32_t(m & ((1 << kShortBits) - 1)) << 8 | uint32_t(shift)};
    return true;
  }
  return false;
}

}  // namespace corten
