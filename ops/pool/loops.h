// The loop over output pixels that all pooling kernels share.
#pragma once
#include "ops/pool/params.h"
#include "runtime/kernel.h"

namespace corten {

// A window of one output pixel: the first tap inside the image, and how to walk from it.
struct PoolWindow {
  const int8_t* x;                // channel 0 of the first tap
  int32_t rows, columns;          // taps inside the image
  int32_t row_step, column_step;  // bytes
  int32_t padded;                 // taps inside the padded image
};

// Calls pixel(window, y) for every output pixel in order; y points to its c channels.
template <class Pixel>
inline void for_each_window(const PoolParams& p, const int8_t* x, int8_t* y, Pixel pixel) {
  const int32_t row_bytes = p.in_w * p.c;
  for (int32_t n = 0; n < p.n; n++, x += p.in_h * row_bytes) {
    PoolWalk rows = {pool_rows(p)};
    for (int32_t oy = 0; oy < p.out_h; oy++) {
      const PoolSpan r = rows.next();
      PoolWalk columns = {pool_columns(p)};
      for (int32_t ox = 0; ox < p.out_w; ox++, y += p.c) {
        const PoolSpan s = columns.next();
        const bool any = r.count > 0 && s.count > 0;
        const int8_t* first = any ? x + r.first * row_bytes + s.first * p.c : x;
        PoolWindow w = {first, any ? r.count : 0, any ? s.count : 0, p.dil_h * row_bytes, p.dil_w * p.c, r.padded * s.padded};
        if (w.row_step == w.columns * w.column_step) w.columns *= w.rows, w.rows = 1;  // the whole width: one run of taps
        pixel(w, y);
      }
    }
  }
}

// The scale of one window of an average.
inline Scale pool_window_scale(const PoolParams& p, const Scale* scales, const PoolWindow& w) {
  if (p.divisor == kPoolFixed) return p.scale;
  return scales[p.divisor == kPoolInside ? w.rows * w.columns : w.padded];
}

}  // namespace corten
