// A real factor as the two integers that fixed.h multiplies by.
#pragma once
#include <stdint.h>

#include "runtime/fixed.h"

namespace corten {

struct Scale {
  int32_t mult, shift;  // factor = mult / 2^(31 + shift); mult in [0, 2^31), shift in [-30, 31]
};
static_assert(sizeof(Scale) == 8, "part of the image format");

constexpr bool scale_ok(const Scale& s) { return s.mult >= 0 && s.shift >= -30 && s.shift <= 31; }

// The nearest Scale to a factor, for the compiler and the tests. mult has 31 significant bits for factors in [2^-32, 2^30), so the
// relative error is at most 2^-31; a smaller factor is off by at most 2^-63, a larger one saturates, one that is not > 0 becomes 0.
constexpr Scale make_scale(double factor) {
  if (!(factor > 0)) return {0, 31};
  int32_t shift = 0;
  while (factor >= 1 && shift > -30) factor /= 2, shift--;
  while (factor < 0.5 && shift < 31) factor *= 2, shift++;
  if (factor >= 1) return {INT32_MAX, -30};
  const int64_t mult = int64_t(factor * 2147483648.0 + 0.5);
  if (mult <= INT32_MAX) return {int32_t(mult), shift};
  return shift > -30 ? Scale{1 << 30, shift - 1} : Scale{INT32_MAX, -30};
}

// requantise() with a Scale read from a table in the image, which no check has seen: any shift is made a legal one.
constexpr int32_t requantise(int32_t acc, Scale s) { return requantise(acc, s.mult, clamp(s.shift, -30, 31)); }

}  // namespace corten
