// TransposeParams from a shape and a permutation. For the compiler and the tests.
#pragma once
#include "ops/transpose/params.h"

namespace corten {

// Output dim d is input dim perm[d]. False if rank > 16, a dim is empty, or more than six dims are left after merging.
inline bool make_transpose(int32_t rank, const uint32_t* shape, const int32_t* perm, TransposeParams* p) {
  constexpr int32_t kMost = 16;
  int64_t in_stride[kMost], stride[kMost], next = 1;
  uint32_t extent[kMost];
  if (rank > kMost) return false;
  for (int32_t d = rank - 1; d >= 0; d--) in_stride[d] = next, next *= shape[d];
  for (int32_t d = 0; d < rank; d++) extent[d] = shape[perm[d]], stride[d] = in_stride[perm[d]];
  return make_strided(rank, extent, stride, 0, &p->copy);
}

}  // namespace corten
