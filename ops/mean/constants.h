// MeanParams from a shape and the reduced dims. For the compiler and the tests.
#pragma once
#include "ops/mean/params.h"

namespace corten {

// Neighbouring dims of one kind are merged, extents of 1 dropped. False if a dim is empty, more than four of a kind are left, or
// more than 2^23 elements are reduced. The sum is exact; the one rounding is requantise()'s, whose factor is within 2^-31 of
// in_scale / (out_scale * divisor): another result than the real one's only within 2^-22 of a tie.
// divisor 0: the number of elements reduced (a mean); 1: a sum.
inline bool make_mean(int32_t rank, const uint32_t* shape, const bool* reduce, double in_scale, int in_zero, double out_scale,
                      int out_zero, int lo, int hi, uint32_t divisor, MeanParams* p) {
  *p = {};
  uint32_t* extents[2] = {p->kept, p->reduced};
  int32_t* strides[2] = {p->kept_stride, p->reduced_stride};
  int32_t used[2] = {0, 0}, last = -1;
  for (int32_t d = 0; d < 4; d++) p->kept[d] = p->reduced[d] = 1;
  uint64_t stride = 1, reduced = 1;
  for (int32_t d = rank - 1; d >= 0; d--) {
    if (shape[d] == 0) return false;
    if (shape[d] == 1) continue;
    const int32_t kind = reduce[d] ? 1 : 0;
    if (kind != last) {
      if (++used[kind] > 4) return false;
      strides[kind][4 - used[kind]] = int32_t(stride);
    }
    extents[kind][4 - used[kind]] *= shape[d];
    stride *= shape[d], last = kind;
    if (kind) reduced *= shape[d];
    if (stride > INT32_MAX || reduced > 1u << 23) return false;
  }
  p->scale = make_scale(in_scale / (out_scale * double(divisor ? divisor : reduced)));
  p->in_zero = int8_t(in_zero), p->out_zero = int8_t(out_zero), p->lo = int8_t(lo), p->hi = int8_t(hi);
  return true;
}

}  // namespace corten
