// What the compiler stores for one nearest-neighbour resize, and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

// y[n, i, j] = x[n, min((start_h + i * step_h) >> 24, in_h - 1), min((start_w + j * step_w) >> 24, in_w - 1)], c bytes each; NHWC
// int8. start + i * step in 64 bits.
struct ResizeParams {
  uint16_t n, in_h, in_w, c;
  uint16_t out_h, out_w;
  uint32_t start_h, step_h, start_w, step_w;  // in 1/2^24 of an input pixel
};
static_assert(sizeof(ResizeParams) == 28, "part of the image format");

}  // namespace corten
