// What the compiler stores for one concatenation, and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

inline constexpr uint32_t kConcatMost = 16;

// y: `outer` times the inner[0] bytes of input 0, then inner[1] of input 1, and so on: inner is the input's extent on the axis
// times everything behind it. All inputs share the output's scale. Operands: the inputs, then y.
struct ConcatParams {
  uint32_t outer, inputs;
  uint32_t inner[kConcatMost];  // unused ones are 0
};
static_assert(sizeof(ConcatParams) == 72, "part of the image format");

}  // namespace corten
