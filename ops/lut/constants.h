// The tables of LutParams. For the compiler and the tests.
#pragma once
#include <cmath>
#include <cstdint>

namespace corten {

// table[x + 128] = f of the real input, quantised as PyTorch does (half to even). Exact: the only rounding is this one. f: double
// -> double; a result that is no number becomes the zero point.
template <class Function>
inline void make_lut(Function f, double in_scale, int in_zero, double out_scale, int out_zero, int lo, int hi, int8_t* table) {
  for (int x = -128; x <= 127; x++) {
    const double v = f((x - in_zero) * in_scale) / out_scale;
    const double q = (std::isnan(v) ? 0.0 : std::nearbyint(v)) + out_zero;
    table[x + 128] = int8_t(q < lo ? lo : q > hi ? hi : q);
  }
}

}  // namespace corten
