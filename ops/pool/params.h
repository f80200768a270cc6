// What the compiler stores for one pooling, and what its kernels read.
#pragma once
#include <stdint.h>

#include "runtime/scale.h"

namespace corten {

// Input (n, in_h, in_w, c), output (n, out_h, out_w, c), both NHWC int8; 1-D pooling has in_h = out_h = k_h = 1.
// Window of output row i: taps i * stride_h - pad_t + t * dil_h for t < k_h, those outside the image left out (ceil_mode is a
// larger out_h). Adaptive: rows floor(i * in_h / out_h) to ceil((i + 1) * in_h / out_h), at most k_h of them. Columns likewise.
// max:     y = clamp(max over the window of x); x and y share scale and zero point. A window without a tap gives -128, clamped.
// average: y = clamp(requantise(sum over the window of (x - in_zero), s) + out_zero), s holding the division.
enum PoolKind : uint8_t { kPoolMax = 0, kPoolAverage = 1 };
enum PoolDivisor : uint8_t {
  kPoolFixed = 0,   // s = scale: every window is divided by the same
  kPoolInside = 1,  // s = scales[taps inside the image]
  kPoolPadded = 2,  // s = scales[taps inside the padded image, (in_h + pad_t + pad_b) rows and so on]
};
struct PoolParams {
  uint16_t n, in_h, in_w, c;
  uint16_t out_h, out_w, k_h, k_w;
  uint16_t stride_h, stride_w, pad_t, pad_l;
  uint16_t pad_b, pad_r, dil_h, dil_w;  // dilation: max only, else 1
  uint8_t kind, divisor, adaptive, reserved;
  int8_t in_zero, out_zero, lo, hi;
  Scale scale;
  uint32_t scales;  // image offset, 4-aligned, of Scale[k_h * k_w + 1], where the divisor is not fixed
};
static_assert(sizeof(PoolParams) == 52, "part of the image format");

// One axis of it.
struct PoolAxis {
  uint16_t in, out, k, stride, pad, pad_after, dil;
  bool adaptive;
};
constexpr PoolAxis pool_rows(const PoolParams& p) {
  return {p.in_h, p.out_h, p.k_h, p.stride_h, p.pad_t, p.pad_b, p.dil_h, p.adaptive != 0};
}
constexpr PoolAxis pool_columns(const PoolParams& p) {
  return {p.in_w, p.out_w, p.k_w, p.stride_w, p.pad_l, p.pad_r, p.dil_w, p.adaptive != 0};
}

// The taps of one output's window on one axis: `count` of them inside the image, the first at `first`, dil apart; `padded` of them
// inside the padded image.
struct PoolSpan {
  int32_t first, count, padded;
};

constexpr PoolSpan pool_window(const PoolAxis& a, int32_t i) {
  int32_t first = i * a.stride - a.pad, taps = a.k;
  int32_t padded = a.in + a.pad_after - first;  // may be below 0 where ceil_mode was taken too far
  padded = padded < 0 ? 0 : padded > a.k ? a.k : padded;
  while (first < 0 && taps > 0) first += a.dil, taps--;
  int32_t count = 0;
  while (count < taps && first + count * a.dil < a.in) count++;
  return {first, count, padded};
}

// Walks the windows of one axis in order. Adaptive ones need no division this way: `rest` is i * in modulo out.
struct PoolWalk {
  PoolAxis axis;
  int32_t i = 0, start = 0, rest = 0;
  __attribute__((noinline)) constexpr PoolSpan next() {  // one copy, shared: twice in every kernel otherwise
    if (!axis.adaptive) return pool_window(axis, i++);
    const int32_t first = start;
    for (rest += axis.in; rest >= axis.out; rest -= axis.out) start++;
    const int32_t count = start - first + (rest > 0 ? 1 : 0);
    return {first, count, count};
  }
};

constexpr uint32_t pool_table_entries(const PoolParams& p) { return p.divisor == kPoolFixed ? 0 : uint32_t(p.k_h) * p.k_w + 1; }

}  // namespace corten
