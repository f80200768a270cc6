// Portable twin of the MVE row: the same packed bytes, plain loops.
#include "runtime/mve_twin.h"
#include "ops/linear/pack_mve.h"
#include "runtime/kernel.h"

namespace corten {

extern "C" void linear_s8_mve(const KernelArgs* a) {
  const LinearParams& p = *static_cast<const LinearParams*>(a->params);
  const int8_t *x = static_cast<const int8_t*>(a->operand[0]), *weights = at<int8_t>(a, p.weights);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  for (uint32_t r = 0; r < p.rows; r++, x += p.in)
    for (uint32_t o = 0; o < p.out; o++) {
      const int32_t* quad = at<int32_t>(a, p.tables) + o / 4 * 9;
      const int8_t negative_shift = reinterpret_cast<const int8_t*>(quad + 8)[o % 4];
      uint32_t acc = uint32_t(quad[o % 4]);
      for (uint32_t i = 0; i < p.in; i++) acc += uint32_t(x[i] * weights[linear_quads_at(linear_mve_vectors(p), o, i)]);
      *y++ = to_int8(mve_requantise(acc, quad[4 + o % 4], negative_shift), p.out_zero, p.lo, p.hi);
    }
}

extern "C" bool linear_s8_mve_check(const CheckArgs* a) { return linear_check(a, linear_quads_weights, linear_quads_tables, 0); }

extern "C" void linear_s8_mve_any(const KernelArgs* a) { linear_s8_mve(a); }
extern "C" bool linear_s8_mve_any_check(const CheckArgs* a) { return linear_s8_mve_check(a); }

}  // namespace corten
