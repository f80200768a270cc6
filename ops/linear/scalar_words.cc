// linear, cores without DSP: a row's inputs are prepared in scratch once; then four outputs at a time.
#include "ops/linear/pack_scalar.h"
#include "ops/linear/scalar_inner.h"
#include "runtime/kernel.h"
#include "runtime/scalar_scale.h"

namespace corten {
namespace {

void prepare(InputPair* to, const int8_t* x, uint32_t in, uint32_t in4) {
  uint32_t k = 0;
  for (; k + 2 <= in; k += 2) *to++ = input_pair(x[k], x[k + 1]);
  for (; k < in4; k += 2) *to++ = input_pair(k < in ? x[k] : 0, 0);
}

// Not inlined, and everything by value, for the sake of the registers.
[[gnu::noinline]] void outputs(const int8_t* w, const DspScale* table, const InputPair* x, uint32_t in, int8_t* y, uint32_t out,
                               ScalarRange range) {
  for (; out >= 4; out -= 4) {
    const FourOutputs four = dot_four_outputs(reinterpret_cast<const uint32_t*>(w), x, in);
    for (int32_t i = 0; i < 4; i++) *y++ = scalar_output(four.sum[i], *table++, range);
    w += 4 * in;
  }
  for (; out > 0; out--, w += in) *y++ = scalar_output(dot_one_output(w, x, in), *table++, range);
}

}  // namespace

extern "C" void linear_s8_scalar_words(const KernelArgs* a) {
  const LinearParams& p = *static_cast<const LinearParams*>(a->params);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  InputPair* const inputs = static_cast<InputPair*>(a->scratch);
  const uint32_t in4 = linear_in4(p);
  const ScalarRange range = {2 * p.out_zero + 1, p.lo, p.hi};
  for (uint32_t row = 0; row < p.rows; row++, x += p.in, y += p.out) {
    prepare(inputs, x, p.in, in4);
    outputs(at<int8_t>(a, p.weights), at<DspScale>(a, p.tables), inputs, in4, y, p.out, range);
    scalar_finish(y, p.out, range);
  }
}

extern "C" bool linear_s8_scalar_words_check(const CheckArgs* a) {
  return linear_check(a, linear_scalar_weights, linear_scalar_tables, 0) && linear_params(a).in <= kScalarInputs &&
         a->scratch_bytes / 4 >= linear_in4(linear_params(a));
}

}  // namespace corten
