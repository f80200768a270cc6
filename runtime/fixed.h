// Fixed-point arithmetic: the only place where rounding is defined. docs/quantization.md derives it.
#pragma once
#include <stdint.h>

namespace corten {

// acc * mult / 2^(31 + shift), rounded half up once, saturated to 32 bits.
// mult in [0, 2^31), shift in [-30, 31]. Every kernel must equal this bit for bit. Exact equivalents:
//   shift >= 1:  x = (2 * acc * mult) >> 32 (floor);  (x + 2^(shift-1)) >> shift      MVE: vqdmulh, vrshl; DSP: smmul of acc << 1
//   any shift:   L = max(0, 1 - shift): the same with acc << L (saturating) and a right shift of max(shift, 1)
constexpr int32_t requantise(int32_t acc, int32_t mult, int32_t shift) {
  int64_t r = (int64_t(acc) * mult + (int64_t(1) << (30 + shift))) >> (31 + shift);
  return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : int32_t(r);
}

constexpr int32_t clamp(int32_t x, int32_t lo, int32_t hi) { return x < lo ? lo : x > hi ? hi : x; }

// Adds the zero point (in [-128, 127]) and clamps to [lo, hi], a part of [-128, 127].
constexpr int8_t to_int8(int32_t x, int32_t zero, int32_t lo, int32_t hi) {
  int64_t v = int64_t(x) + zero;
  return int8_t(v < lo ? lo : v > hi ? hi : v);
}

}  // namespace corten
