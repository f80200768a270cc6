// What the compiler stores for one softmax or log_softmax, and what its kernels read.
#pragma once
#include <stdint.h>

#include "runtime/scale.h"

namespace corten {

// x, y (outer, n, inner) int8, the softmax over n: inner = 1 for the last dimension. reference.h states the arithmetic.
struct SoftmaxParams {
  uint32_t outer, n, inner;
  uint32_t table;    // image offset, 4-aligned, of uint32[32]: exp(-d * in_scale) * 2^31 for d = 0, 16 .. 240, then for 0 .. 15
  Scale scale;       // softmax: 1 / out_scale. log_softmax: mult = in_scale / out_scale * 2^shift, shift 0..30
  int32_t log_mult;  // log_softmax: ln 2 / out_scale * 2^shift
  int8_t out_zero, lo, hi;
  uint8_t log;  // 1: log_softmax
};
static_assert(sizeof(SoftmaxParams) == 32, "part of the image format");

constexpr uint32_t kSoftmaxTable = 32;

// The MVE row takes the product's high word. With a sum of 2^31 or more, which every table gives that begins with exp(0), the row's
// shift is at least 62 + scale.shift.
constexpr bool softmax_fits_mve(const SoftmaxParams& p) { return p.inner == 1 && p.log == 0 && p.scale.shift >= -29; }

}  // namespace corten
