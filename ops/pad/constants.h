// PadParams from a shape and what goes before and after each dim. For the compiler and the tests.
#pragma once
#include "ops/pad/params.h"

namespace corten {

// value: the quantised constant. An unpadded dim is merged into the one before it: into an unpadded one always, into a padded one
// where the mode is constant (a run of pixels is one run of bytes). False if a dim is or becomes empty or more than six are left.
inline bool make_pad(int32_t rank, const uint32_t* shape, const int32_t* before, const int32_t* after, uint8_t mode, int8_t value,
                     PadParams* p) {
  *p = {};
  for (int32_t d = 0; d < 6; d++) p->in[d] = p->out[d] = 1;
  int32_t used = 0;
  bool open = false;  // the dim last written is unpadded and may be merged into the next one outwards
  for (int32_t d = rank - 1; d >= 0; d--) {
    const bool padded = before[d] != 0 || after[d] != 0;
    if (shape[d] == 0 || int64_t(shape[d]) + before[d] + after[d] <= 0) return false;
    if (shape[d] == 1 && !padded) continue;
    const bool merge = open && (!padded || mode == kPadConstant);
    if (!merge && ++used > 6) return false;
    const int32_t at = 6 - used;
    const uint32_t inner = merge ? p->in[at] : 1;
    const int64_t in = int64_t(inner) * shape[d], out = int64_t(inner) * (int64_t(shape[d]) + before[d] + after[d]);
    const int64_t front = int64_t(inner) * before[d];
    if (in > INT32_MAX || out > INT32_MAX || front > INT32_MAX || front < -int64_t(INT32_MAX)) return false;
    p->in[at] = uint32_t(in), p->out[at] = uint32_t(out), p->before[at] = int32_t(front);
    open = !padded;
  }
  p->value = value, p->mode = mode;
  return true;
}

}  // namespace corten
