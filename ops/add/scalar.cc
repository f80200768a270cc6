// add, any core: the row that takes everything.
#include "ops/add/reference.h"

namespace corten {

extern "C" void add_s8_scalar(const KernelArgs* k) {
  const AddParams& p = *static_cast<const AddParams*>(k->params);
  const int32_t a_stride = p.shape.a_stride[3], b_stride = p.shape.b_stride[3];
  const uint32_t a_mult = uint32_t(p.a_mult), b_mult = uint32_t(p.b_mult), offset = uint32_t(p.offset);
  const int32_t lo = p.lo, hi = p.hi, shift = p.shift;
  for_each_row(p.shape, static_cast<const int8_t*>(k->operand[0]), static_cast<const int8_t*>(k->operand[1]),
               static_cast<int8_t*>(k->operand[2]), [=](const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
                 int32_t at_a = 0, at_b = 0;
                 for (uint32_t i = 0; i < n; i++, at_a += a_stride, at_b += b_stride) {
                   const uint32_t sum = offset + uint32_t(a[at_a]) * a_mult + uint32_t(b[at_b]) * b_mult;
                   y[i] = int8_t(clamp(int32_t(sum) >> shift, lo, hi));
                 }
               });
}

extern "C" bool add_s8_scalar_check(const CheckArgs* c) { return add_check(c); }

}  // namespace corten
