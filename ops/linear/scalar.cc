// linear, any core: the row that takes everything.
#include "ops/linear/pack.h"
#include "ops/linear/reference.h"
#include "runtime/kernel.h"

namespace corten {

extern "C" void linear_s8_scalar(const KernelArgs* a) {
  const LinearParams& p = *static_cast<const LinearParams*>(a->params);
  const int32_t* bias = at<int32_t>(a, p.tables);
  const LinearSource w = {at<int8_t>(a, p.weights), bias, bias + p.out, bias + 2 * p.out};
  linear_reference(p, w, static_cast<const int8_t*>(a->operand[0]), static_cast<int8_t*>(a->operand[1]));
}

extern "C" bool linear_s8_scalar_check(const CheckArgs* a) { return linear_check(a, linear_plain_weights, linear_plain_tables, 0); }

}  // namespace corten
