// SliceParams from a shape and ranges. For the compiler and the tests.
#pragma once
#include "ops/slice/params.h"

namespace corten {

// Output dim d is elements start[d], start[d] + step[d], ... of input dim d, extent[d] of them: slice, select, narrow, chunk, flip
// (a negative step), and, with step 0, expand. False if rank > 16, a dim is empty, or more than six dims are left after merging.
inline bool make_slice(int32_t rank, const uint32_t* shape, const int64_t* start, const int64_t* step, const uint32_t* extent,
                       SliceParams* p) {
  constexpr int32_t kMost = 16;
  int64_t stride[kMost], next = 1, offset = 0;
  if (rank > kMost) return false;
  for (int32_t d = rank - 1; d >= 0; d--) {
    stride[d] = next * step[d], offset += next * start[d];
    next *= shape[d];
  }
  return offset >= 0 && offset <= INT32_MAX && make_strided(rank, extent, stride, uint32_t(offset), &p->copy);
}

}  // namespace corten
