// What the compiler stores for one nearest-neighbour resize, and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

// One axis: scale = mantissa * 2^-(shift - 1), the float32 that PyTorch multiplies by.
struct ResizeAxis {
  uint32_t mantissa;  // below 2^24
  uint8_t shift;      // 0..63
  uint8_t exact;      // 0: nearest, 1: nearest-exact
  uint16_t reserved;
};

// y[n, i, j] = x[n, rows(i), columns(j)], c bytes each; NHWC int8; rows and columns by resize_index().
struct ResizeParams {
  uint16_t n, in_h, in_w, c;
  uint16_t out_h, out_w;
  ResizeAxis rows, columns;
};
static_assert(sizeof(ResizeParams) == 28, "part of the image format");

// To 24 significant bits, half to even: what a float32 keeps.
inline uint64_t resize_round24(uint64_t v) {
  const uint32_t high = uint32_t(v >> 32), low = uint32_t(v);
  const int32_t bits = high ? 64 - __builtin_clz(high) : low ? 32 - __builtin_clz(low) : 0;
  if (bits <= 24) return v;
  const int32_t drop = bits - 24;
  const uint64_t odd = v >> drop & 1;
  return (v + (uint64_t(1) << (drop - 1)) - 1 + odd) >> drop << drop;
}

// PyTorch's index, with its float32 roundings, in integers so that every core agrees. They show: with scale = 1/41, position 41
// reads pixel 0 (below 1) but position 123 pixel 3.
//   nearest:       floor(i * scale)
//   nearest-exact: floor(max(0, (i + 1/2) * scale - 1/2) + 1/2), product and difference rounded as one
__attribute__((noinline)) inline uint32_t resize_index(const ResizeAxis& a, uint32_t i, uint32_t in) {
  uint64_t at = uint64_t(2 * i + (a.exact ? 1 : 0)) * a.mantissa;
  if (a.exact) {
    const uint64_t half = a.shift ? uint64_t(1) << (a.shift - 1) : 0;
    at = (at < half ? 0 : resize_round24(at - half)) + half;
  }
  at = resize_round24(at) >> a.shift;
  return at < in ? uint32_t(at) : in - 1;
}

}  // namespace corten
