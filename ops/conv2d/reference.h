// conv2d, int8: y[n,oy,ox,o] = clamp(requantise(bias[o] + sum_{r,s,c} x[n, oy*sh - pt + r*dh, ox*sw - pl + s*dw, g*C + c] *
// w[o,r,s,c]) + out_zero), x outside the image reading as in_zero. Every kernel row must equal this, bit for bit.
#pragma once
#include "ops/conv2d/params.h"
#include "runtime/fixed.h"

namespace corten {

inline void conv2d_reference(const ConvParams& p, const ConvSource& w, const int8_t* x, int8_t* y) {
  const int32_t gi = conv_group_in(p), go = conv_group_out(p);
  for (int32_t n = 0; n < p.n; n++)
    for (int32_t oy = 0; oy < p.out_h; oy++)
      for (int32_t ox = 0; ox < p.out_w; ox++)
        for (int32_t o = 0; o < p.out_c; o++) {
          int32_t acc = w.bias[o];
          const int8_t* wo = w.weights + o * conv_taps(p);
          for (int32_t r = 0; r < p.k_h; r++)
            for (int32_t s = 0; s < p.k_w; s++) {
              const int32_t iy = oy * p.stride_h - p.pad_t + r * p.dil_h, ix = ox * p.stride_w - p.pad_l + s * p.dil_w;
              const bool inside = iy >= 0 && iy < p.in_h && ix >= 0 && ix < p.in_w;
              const int8_t* xp = inside ? x + ((n * p.in_h + iy) * p.in_w + ix) * p.in_c + o / go * gi : nullptr;
              for (int32_t c = 0; c < gi; c++) acc += (inside ? xp[c] : p.in_zero) * *wo++;
            }
          *y++ = to_int8(requantise(acc, w.mult[o], w.shift[o]), p.out_zero, p.lo, p.hi);
        }
}

}  // namespace corten
