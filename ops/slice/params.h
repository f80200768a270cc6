// What the compiler stores for one slice, and what its kernels read.
#pragma once
#include "runtime/strided.h"

namespace corten {

// y, dense, from x by the strided copy of runtime/strided.h; int8.
struct SliceParams {
  StridedCopy copy;
};
static_assert(sizeof(SliceParams) == 56, "part of the image format");

}  // namespace corten
