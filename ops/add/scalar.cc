// add, any core: the row that takes everything.
#include "ops/add/reference.h"

namespace corten {
namespace {

struct Constants {
  uint32_t a_mult, b_mult, offset;
  int32_t shift, lo;
  uint32_t range;  // hi - lo
};

// One compare finds the results that need clamping, which are few.
inline int8_t one(const Constants& c, int8_t a, int8_t b) {
  const int32_t v = int32_t(c.offset + uint32_t(a) * c.a_mult + uint32_t(b) * c.b_mult) >> c.shift;
  uint32_t above = uint32_t(v) - uint32_t(c.lo);
  if (__builtin_expect(above > c.range, 0)) above = v < c.lo ? 0 : c.range;
  return int8_t(int32_t(above) + c.lo);
}

// Apart from the loop over rows, which would take its registers; the constants by value, as a store could change them otherwise.
__attribute__((noinline)) void dense(const Constants c, const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
  a += n, b += n, y += n;
  for (int32_t i = -int32_t(n); i < 0; i++) y[i] = one(c, a[i], b[i]);  // one index for all, counting to 0
}

__attribute__((noinline)) void strided(const Constants c, const int8_t* a, int32_t a_stride, const int8_t* b, int32_t b_stride,
                                       int8_t* y, uint32_t n) {
  int32_t at_a = 0, at_b = 0;
  for (uint32_t i = 0; i < n; i++, at_a += a_stride, at_b += b_stride) y[i] = one(c, a[at_a], b[at_b]);
}

}  // namespace

extern "C" void add_s8_scalar(const KernelArgs* k) {
  const AddParams& p = *static_cast<const AddParams*>(k->params);
  const int32_t a_stride = p.shape.a_stride[3], b_stride = p.shape.b_stride[3];
  const Constants c = {uint32_t(p.a_mult), uint32_t(p.b_mult), uint32_t(p.offset), p.shift, p.lo, uint32_t(p.hi - p.lo)};
  for_each_row(p.shape, static_cast<const int8_t*>(k->operand[0]), static_cast<const int8_t*>(k->operand[1]),
               static_cast<int8_t*>(k->operand[2]), [=](const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
                 if (a_stride == 1 && b_stride == 1) return dense(c, a, b, y, n);
                 strided(c, a, a_stride, b, b_stride, y, n);
               });
}

extern "C" bool add_s8_scalar_check(const CheckArgs* c) { return add_check(c); }

}  // namespace corten
