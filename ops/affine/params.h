// What the compiler stores for one per-channel multiply-add (a batch norm on its own), and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

// y[r, c] = clamp((x[r, c] * mult[c] + offset[c]) >> shift[c]); x, y (rows, channels), int8, row-major. The sum is modulo 2^32.
struct AffineParams {
  uint32_t rows, channels;
  uint32_t tables;  // image offset, 4-aligned, of AffineChannel[channels]
  int8_t lo, hi;
  uint8_t reserved[2];
};
static_assert(sizeof(AffineParams) == 16, "part of the image format");

struct AffineChannel {
  int32_t mult, offset;
  uint32_t shift;  // 0..31; kernels look at the low five bits
};
static_assert(sizeof(AffineChannel) == 12, "part of the image format");

}  // namespace corten
