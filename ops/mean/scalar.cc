// mean, any core: the row that takes everything.
#include "ops/mean/reference.h"

namespace corten {

// Sum over the reduced extents from one kept position.
static int32_t sum_of(const MeanParams& p, const int8_t* x) {
  const int32_t step = p.reduced_stride[3];
  uint32_t index[3] = {};
  int32_t sum = 0;
  for (;;) {
    for (uint32_t i = 0; i < p.reduced[3]; i++) sum += x[int32_t(i) * step];
    int32_t d = 2;
    for (; d >= 0 && ++index[d] == p.reduced[d]; d--) {
      index[d] = 0;
      x -= int32_t(p.reduced[d] - 1) * p.reduced_stride[d];
    }
    if (d < 0) return sum;
    x += p.reduced_stride[d];
  }
}

extern "C" void mean_s8_scalar(const KernelArgs* k) {
  const MeanParams& p = *static_cast<const MeanParams*>(k->params);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  const int32_t zeros = int32_t(p.reduced[0] * p.reduced[1] * p.reduced[2] * p.reduced[3]) * p.in_zero;
  for_each_kept(p, static_cast<const int8_t*>(k->operand[0]), [&](const int8_t* x) {
    *y++ = to_int8(requantise(sum_of(p, x) - zeros, p.scale.mult, p.scale.shift), p.out_zero, p.lo, p.hi);
  });
}

extern "C" bool mean_s8_scalar_check(const CheckArgs* c) { return mean_check(c); }

}  // namespace corten
