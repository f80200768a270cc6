// mul, any core.
#include "ops/mul/reference.h"
#include "runtime/scalar_scale.h"

namespace corten {
namespace {

struct Short {
  int32_t a_zero, b_zero, mult, shift, out_zero, lo, hi;
};

// requantise() for shift >= 1: the high word of twice the product times mult, then a rounding shift. |2 * product| < 2^18.
inline int8_t one(const Short& c, int8_t a, int8_t b) {
  const int32_t twice = 2 * (a - c.a_zero) * (b - c.b_zero);
  const int32_t high = kLongMultiply ? multiply_high_long(twice, c.mult) : multiply_high_halves(twice, c.mult);
  const int32_t v = ((high >> (c.shift - 1)) + 1) >> 1;
  return int8_t(clamp(v + c.out_zero, c.lo, c.hi));
}

// Apart from the loop over rows, which would take its registers; the constants by value, as a store could change them otherwise.
__attribute__((noinline)) void row(const Short c, const int8_t* a, int32_t a_stride, const int8_t* b, int32_t b_stride, int8_t* y,
                                   uint32_t n) {
  for (; n > 0; n--, a += a_stride, b += b_stride) *y++ = one(c, *a, *b);
}

}  // namespace

extern "C" void mul_s8_scalar_short(const KernelArgs* k) {
  const MulParams& p = *static_cast<const MulParams*>(k->params);
  const int32_t a_stride = p.shape.a_stride[3], b_stride = p.shape.b_stride[3];
  const Short c = {p.a_zero, p.b_zero, p.scale.mult, p.scale.shift, p.out_zero, p.lo, p.hi};
  for_each_row(p.shape, static_cast<const int8_t*>(k->operand[0]), static_cast<const int8_t*>(k->operand[1]),
               static_cast<int8_t*>(k->operand[2]),
               [=](const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) { row(c, a, a_stride, b, b_stride, y, n); });
}

extern "C" bool mul_s8_scalar_short_check(const CheckArgs* c) {
  return mul_check(c) && mul_is_short(*static_cast<const MulParams*>(c->params));
}

extern "C" void mul_s8_scalar(const KernelArgs* k) {
  const MulParams& p = *static_cast<const MulParams*>(k->params);
  const int32_t a_stride = p.shape.a_stride[3], b_stride = p.shape.b_stride[3];
  for_each_row(p.shape, static_cast<const int8_t*>(k->operand[0]), static_cast<const int8_t*>(k->operand[1]),
               static_cast<int8_t*>(k->operand[2]), [=, &p](const int8_t* a, const int8_t* b, int8_t* y, uint32_t n) {
                 for (uint32_t i = 0; i < n; i++) y[i] = mul_one(p, a[int32_t(i) * a_stride], b[int32_t(i) * b_stride]);
               });
}

extern "C" bool mul_s8_scalar_check(const CheckArgs* c) { return mul_check(c); }

}  // namespace corten
