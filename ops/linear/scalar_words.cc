// linear, cores without DSP: a row's inputs are widened to words once; then four outputs at a time.
#include "ops/linear/pack_scalar.h"
#include "ops/linear/scalar_inner.h"
#include "runtime/kernel.h"
#include "runtime/scalar_scale.h"

namespace corten {

extern "C" void linear_s8_scalar_words(const KernelArgs* a) {
  const LinearParams& p = *static_cast<const LinearParams*>(a->params);
  const DspScale* const table = at<DspScale>(a, p.tables);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  int32_t* const words = static_cast<int32_t*>(a->scratch);
  const uint32_t in4 = linear_in4(p), fours = p.out / 4 * 4;
  const ScalarRange range = {2 * p.out_zero + 1, p.lo, p.hi};
  for (uint32_t k = p.in; k < in4; k++) words[k] = 0;
  for (uint32_t row = 0; row < p.rows; row++) {
    for (uint32_t k = 0; k < p.in; k++) words[k] = *x++;
    const int8_t* w = at<int8_t>(a, p.weights);
    for (uint32_t o = 0; o < fours; o += 4, w += 4 * in4) {
      int32_t acc[4] = {0, 0, 0, 0};
      dot_four_outputs(reinterpret_cast<const uint32_t*>(w), words, in4, acc);
      for (uint32_t i = 0; i < 4; i++) *y++ = scalar_output(acc[i], table[o + i], range);
    }
    for (uint32_t o = fours; o < p.out; o++) {
      int32_t acc = 0;
      for (uint32_t k = 0; k < in4; k++) acc += words[k] * *w++;
      *y++ = scalar_output(acc, table[o], range);
    }
  }
}

extern "C" bool linear_s8_scalar_words_check(const CheckArgs* a) {
  return linear_check(a, linear_scalar_weights, linear_scalar_tables, 0) && linear_params(a).in <= kScalarInputs &&
         a->scratch_bytes / 4 >= linear_in4(linear_params(a));
}

}  // namespace corten
