// add on DSP cores, saturating to the whole of int8. Bytes are loaded singly: neighbouring loads take a cycle each, as unpacking
// would.
#include "ops/add/reference.h"
#include "runtime/simd.h"

namespace corten {
namespace {

struct Constants {
  int32_t a_mult, b_mult, offset, shift;
};

inline int8_t one(const Constants& c, int8_t a, int8_t b) {
  return int8_t(ssat8(mla(b, c.b_mult, mla(a, c.a_mult, c.offset)) >> c.shift));
}

// Apart from the loop over rows, which would take its registers; the constants by value, as a store could change them otherwise.
__attribute__((noinline)) void dense(const Constants c, const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
  for (; n >= 4; n -= 4, a += 4, b += 4, y += 4) {
    const int8_t a0 = a[0], a1 = a[1], b0 = b[0], b1 = b[1];
    const int8_t y0 = one(c, a0, b0), y1 = one(c, a1, b1);
    const int8_t a2 = a[2], a3 = a[3], b2 = b[2], b3 = b[3];
    const int8_t y2 = one(c, a2, b2), y3 = one(c, a3, b3);
    y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;
  }
  for (; n > 0; n--) *y++ = one(c, *a++, *b++);
}

__attribute__((noinline)) void strided(const Constants c, const int8_t* a, int32_t a_stride, const int8_t* b, int32_t b_stride,
                                       int8_t* y, uint32_t n) {
  int32_t at_a = 0, at_b = 0;
  for (uint32_t i = 0; i < n; i++, at_a += a_stride, at_b += b_stride) y[i] = one(c, a[at_a], b[at_b]);
}

}  // namespace

extern "C" void add_s8_dsp(const KernelArgs* k) {
  const AddParams& p = *static_cast<const AddParams*>(k->params);
  const int32_t a_stride = p.shape.a_stride[3], b_stride = p.shape.b_stride[3];
  const Constants c = {p.a_mult, p.b_mult, p.offset, p.shift};
  for_each_row(p.shape, static_cast<const int8_t*>(k->operand[0]), static_cast<const int8_t*>(k->operand[1]),
               static_cast<int8_t*>(k->operand[2]), [=](const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
                 if (a_stride == 1 && b_stride == 1) return dense(c, a, b, y, n);
                 strided(c, a, a_stride, b, b_stride, y, n);
               });
}

extern "C" bool add_s8_dsp_check(const CheckArgs* c) {
  return add_check(c) && add_saturates(*static_cast<const AddParams*>(c->params));
}

}  // namespace corten
