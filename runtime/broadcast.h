// Two operands, one output: how PyTorch's broadcasting looks once collapsed, its check and its loop.
#pragma once
#include <stdint.h>

#include "runtime/strided.h"

namespace corten {

// The output is dense, row-major over extent; element i reads a[sum i[d] * a_stride[d]] and b likewise. 0 repeats.
struct Broadcast {
  uint32_t count;      // elements of the output: the product of the extents
  uint32_t extent[4];  // outermost first; unused ones lead and are 1
  int32_t a_stride[4], b_stride[4];
};
static_assert(sizeof(Broadcast) == 52, "part of the image format");

constexpr bool is_flat(const Broadcast& b) {  // both operands are as dense as the output
  return b.extent[3] == b.count && (b.count == 1 || (b.a_stride[3] == 1 && b.b_stride[3] == 1));
}

// Along the innermost dim each operand is dense or repeats, and not both repeat: what make_broadcast() makes, but for a single
// element.
constexpr bool has_unit_steps(const Broadcast& b) {
  const int32_t sa = b.a_stride[3], sb = b.b_stride[3];
  return (sa == 1 && (sb == 0 || sb == 1)) || (sa == 0 && sb == 1);
}

inline bool broadcast_check(const Broadcast& b, uint32_t a_bytes, uint32_t b_bytes, uint32_t out_bytes) {
  uint32_t count = 0;
  return extents_ok(b.extent, 4, &count) && count == b.count && count == out_bytes &&
         strides_ok(b.extent, b.a_stride, 4, 0, 1, a_bytes) && strides_ok(b.extent, b.b_stride, 4, 0, 1, b_bytes);
}

// Calls row(a, b, out, n) for every innermost row of n elements.
template <class Row>
inline void for_each_row(const Broadcast& s, const int8_t* a, const int8_t* b, int8_t* out, Row row) {
  uint32_t index[3] = {};
  for (;;) {
    row(a, b, out, s.extent[3]);
    out += s.extent[3];
    int32_t d = 2;
    for (; d >= 0 && ++index[d] == s.extent[d]; d--) {
      index[d] = 0;
      a -= int32_t(s.extent[d] - 1) * s.a_stride[d], b -= int32_t(s.extent[d] - 1) * s.b_stride[d];
    }
    if (d < 0) return;
    a += s.a_stride[d], b += s.b_stride[d];
  }
}

// Where output element i reads an operand: the definition, for references.
inline int64_t broadcast_index(const Broadcast& s, const int32_t* stride, uint32_t i) {
  int64_t at = 0;
  for (int32_t d = 3; d >= 0; d--) at += int64_t(i % s.extent[d]) * stride[d], i /= s.extent[d];
  return at;
}

// From the operands' shapes (right-aligned, as PyTorch does), for the compiler. False if they do not broadcast, a dim is empty, or
// more than four dims are left after merging.
inline bool make_broadcast(int32_t a_rank, const uint32_t* a_shape, int32_t b_rank, const uint32_t* b_shape, Broadcast* s) {
  uint32_t extent[5];
  int64_t as[5], bs[5], a_next = 1, b_next = 1, count = 1;
  int32_t n = 0;  // innermost first
  for (int32_t d = 1; d <= a_rank || d <= b_rank; d++) {
    const uint32_t ea = d <= a_rank ? a_shape[a_rank - d] : 1, eb = d <= b_rank ? b_shape[b_rank - d] : 1;
    const uint32_t e = ea == 1 ? eb : ea;
    if (e == 0 || (eb != 1 && eb != e)) return false;
    if (e == 1) continue;
    const int64_t sa = ea == 1 ? 0 : a_next, sb = eb == 1 ? 0 : b_next;
    a_next *= ea, b_next *= eb, count *= e;
    if (count > INT32_MAX) return false;
    if (n > 0 && sa == as[n - 1] * int64_t(extent[n - 1]) && sb == bs[n - 1] * int64_t(extent[n - 1])) {
      extent[n - 1] *= e;
      continue;
    }
    if (n == 4) return false;
    extent[n] = e, as[n] = sa, bs[n] = sb, n++;
  }
  s->count = uint32_t(count);
  for (int32_t d = 0; d < 4; d++) {
    const int32_t from = 3 - d;
    s->extent[d] = from < n ? extent[from] : 1;
    s->a_stride[d] = from < n ? int32_t(as[from]) : 0, s->b_stride[d] = from < n ? int32_t(bs[from]) : 0;
  }
  return true;
}

}  // namespace corten
