// mean on DSP cores: four channels in a word.
#include "ops/mean/reference.h"
#include "runtime/simd.h"

namespace corten {
namespace {

// Sums of four channels over n rows, each element offset by 128 so that the pairs do not borrow; 255 rows at a time in 16 bits.
struct Sums {
  uint32_t sum[4];
};
Sums column_sums(const int8_t* x, uint32_t n, int32_t step) {
  Sums s = {};
  while (n > 0) {
    const uint32_t block = n < 255 ? n : 255;
    uint32_t even = 0, odd = 0;
    for (uint32_t i = 0; i < block; i++, x += step) {
      const uint32_t word = load4(x) ^ 0x80808080u;
      even += word & 0x00ff00ffu, odd += (word >> 8) & 0x00ff00ffu;
    }
    s.sum[0] += even & 0xffff, s.sum[1] += odd & 0xffff, s.sum[2] += even >> 16, s.sum[3] += odd >> 16;
    n -= block;
  }
  return s;
}

}  // namespace

extern "C" void mean_s8_dsp_columns(const KernelArgs* k) {
  const MeanParams& p = *static_cast<const MeanParams*>(k->params);
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  const uint32_t zeros = p.reduced[3] * uint32_t(p.in_zero + 128);
  for (uint32_t n = 0; n < p.kept[2]; n++, x += p.kept_stride[2])
    for (uint32_t c = 0; c < p.kept[3]; c += 4) {
      const Sums s = column_sums(x + c, p.reduced[3], p.reduced_stride[3]);
      for (int32_t i = 0; i < 4; i++) {
        const int32_t acc = requantise(int32_t(s.sum[i] - zeros), p.scale.mult, p.scale.shift);
        *y++ = to_int8(acc, p.out_zero, p.lo, p.hi);
      }
    }
}

extern "C" bool mean_s8_dsp_columns_check(const CheckArgs* c) {
  if (!mean_check(c)) return false;
  const MeanParams& p = *static_cast<const MeanParams*>(c->params);
  return mean_is_columns(p) && p.kept[3] % 4 == 0;
}

}  // namespace corten
