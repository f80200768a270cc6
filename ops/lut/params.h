// What the compiler stores for one table look-up, and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

// y[i] = table[i % channels][x[i] + 128]: any function of one value, the same for all (channels = 1) or per channel, channels last.
struct LutParams {
  uint32_t count;     // elements, a multiple of channels
  uint32_t channels;  // tables
  uint32_t table;     // image offset of int8[channels][256]
};
static_assert(sizeof(LutParams) == 12, "part of the image format");

}  // namespace corten
