// What the compiler stores for one padding, and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

// y[o] = x[o - before] where that lies inside x, else what the mode says; `before` below 0 crops, out > in + before pads behind.
// Dense row-major int8; unused dims lead: in = out = 1, before = 0.
enum PadMode : uint8_t {
  kPadConstant = 0,   // `value`
  kPadReflect = 1,    // mirrored, the edge not repeated
  kPadReplicate = 2,  // the edge
  kPadCircular = 3,   // from the other end
};
struct PadParams {
  uint32_t in[6], out[6];  // extents, outermost first
  int32_t before[6];
  int8_t value;
  uint8_t mode;
  uint8_t reserved[2];
};
static_assert(sizeof(PadParams) == 76, "part of the image format");

// The input position that position `i` (output position - before) reads, -1 for the constant.
constexpr int32_t pad_source(uint8_t mode, int32_t i, int32_t n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case kPadReflect:
      return i < 0 ? -i : 2 * (n - 1) - i;
    case kPadReplicate:
      return i < 0 ? 0 : n - 1;
    case kPadCircular:
      return i < 0 ? i + n : i - n;
    default:
      return -1;
  }
}

}  // namespace corten
