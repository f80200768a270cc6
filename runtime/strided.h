// Extents and strides: their checks, and the strided copy that permuting, slicing, flipping and expanding all are.
#pragma once
#include <stdint.h>

#include "runtime/copy.h"

namespace corten {

// True if no extent is 0 and their product fits 32 bits; *product then holds it.
inline bool extents_ok(const uint32_t* extent, int32_t rank, uint32_t* product) {
  uint64_t n = 1;
  for (int32_t d = 0; d < rank; d++) {
    n *= extent[d];
    if (n == 0 || n > UINT32_MAX) return false;
  }
  *product = uint32_t(n);
  return true;
}

// True if offset + sum of i[d] * stride[d] + [0, block) lies in [0, bytes) for every index i[d] < extent[d]. Extents are not 0.
inline bool strides_ok(const uint32_t* extent, const int32_t* stride, int32_t rank, uint32_t offset, uint32_t block,
                       uint32_t bytes) {
  int64_t low = offset, high = int64_t(offset) + block;
  for (int32_t d = 0; d < rank; d++) {
    const int64_t reach = int64_t(extent[d] - 1) * stride[d];  // |reach| < 2^63
    if (reach > INT32_MAX || reach < -int64_t(INT32_MAX)) return false;
    if (reach < 0) low += reach;
    if (reach > 0) high += reach;
  }
  return low >= 0 && high <= bytes;
}

// out, dense: for every index i (last fastest) the `block` bytes at in + offset + sum of i[d] * stride[d].
struct StridedCopy {
  uint32_t extent[6];  // outermost first; unused ones lead and are 1
  int32_t stride[6];   // in bytes; negative walks backwards, 0 repeats
  uint32_t offset, block;
};
static_assert(sizeof(StridedCopy) == 56, "part of the image format");

inline bool strided_copy_check(const StridedCopy& s, uint32_t in_bytes, uint32_t out_bytes) {
  uint32_t blocks = 0;
  if (!extents_ok(s.extent, 6, &blocks) || s.block == 0 || uint64_t(blocks) * s.block != out_bytes) return false;
  return strides_ok(s.extent, s.stride, 6, s.offset, s.block, in_bytes);
}

// The definition: the i-th block of y is the block of x at offset + i . stride.
inline void strided_reference(const StridedCopy& s, const int8_t* x, int8_t* y) {
  uint32_t blocks = 1;
  for (int32_t d = 0; d < 6; d++) blocks *= s.extent[d];
  for (uint32_t i = 0; i < blocks; i++) {
    int64_t from = s.offset;
    uint32_t rest = i;
    for (int32_t d = 5; d >= 0; d--) from += int64_t(rest % s.extent[d]) * s.stride[d], rest /= s.extent[d];
    for (uint32_t b = 0; b < s.block; b++) *y++ = x[from + b];
  }
}

// The innermost run: `count` blocks, `stride` bytes apart. Addresses stay in [in, in + in_bytes) for every block that is read.
inline uint8_t* strided_run(const uint8_t* from, uint8_t* to, uint32_t count, int32_t stride, uint32_t block) {
  if (block == 1) {
    for (; count > 1; count--, from += stride) *to++ = *from;
    *to++ = *from;
    return to;
  }
  for (;; from += stride) {
    copy_bytes(to, from, block);
    to += block;
    if (--count == 0) return to;
  }
}

inline void strided_copy(const StridedCopy& s, const uint8_t* in, uint8_t* to) {
  uint32_t index[5] = {};
  const uint8_t* from = in + s.offset;
  for (;;) {
    to = strided_run(from, to, s.extent[5], s.stride[5], s.block);
    int32_t d = 4;
    for (; d >= 0 && ++index[d] == s.extent[d]; d--) {  // an odometer: reset the full ones, step the next
      index[d] = 0;
      from -= int32_t(s.extent[d] - 1) * s.stride[d];
    }
    if (d < 0) return;
    from += s.stride[d];
  }
}

// Merges neighbours that one stride walks and drops extents of 1, for the compiler. `rank` dims in, stride in bytes of 1-byte
// elements. False if more than six dims are left, or a dim is empty.
inline bool make_strided(int32_t rank, const uint32_t* extent, const int64_t* stride, uint32_t offset, StridedCopy* s) {
  constexpr int32_t kMost = 6;
  uint32_t e[kMost + 1];
  int64_t st[kMost + 1];
  int32_t n = 0;  // e, st: innermost first
  for (int32_t d = rank - 1; d >= 0; d--) {
    if (extent[d] == 0 || stride[d] > INT32_MAX || stride[d] < -int64_t(INT32_MAX)) return false;
    if (extent[d] == 1) continue;
    if (n > 0 && stride[d] == st[n - 1] * int64_t(e[n - 1])) {
      e[n - 1] *= extent[d];
      continue;
    }
    if (n > kMost) return false;
    e[n] = extent[d], st[n] = stride[d], n++;
  }
  const bool dense = n > 0 && st[0] == 1;
  s->offset = offset, s->block = dense ? e[0] : 1;
  const int32_t first = dense ? 1 : 0;
  if (n - first > kMost) return false;
  for (int32_t d = 0; d < kMost; d++) {
    const int32_t from = first + kMost - 1 - d;
    s->extent[d] = from < n ? e[from] : 1;
    s->stride[d] = from < n ? int32_t(st[from]) : 0;
  }
  return true;
}

}  // namespace corten
