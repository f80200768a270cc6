// mul, any core: the row that takes everything.
#include "ops/mul/reference.h"

namespace corten {

extern "C" void mul_s8_scalar(const KernelArgs* k) {
  const MulParams& p = *static_cast<const MulParams*>(k->params);
  const int32_t a_stride = p.shape.a_stride[3], b_stride = p.shape.b_stride[3];
  for_each_row(p.shape, static_cast<const int8_t*>(k->operand[0]), static_cast<const int8_t*>(k->operand[1]),
               static_cast<int8_t*>(k->operand[2]), [=, &p](const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
                 int32_t at_a = 0, at_b = 0;
                 for (uint32_t i = 0; i < n; i++, at_a += a_stride, at_b += b_stride) y[i] = mul_one(p, a[at_a], b[at_b]);
               });
}

extern "C" bool mul_s8_scalar_check(const CheckArgs* c) { return mul_check(c); }

}  // namespace corten
