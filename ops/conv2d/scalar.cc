// conv2d, any core: the row that takes everything.
#include "ops/conv2d/pack.h"
#include "ops/conv2d/reference.h"
#include "runtime/kernel.h"

namespace corten {

extern "C" void conv2d_s8_scalar(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const int32_t* bias = at<int32_t>(a, p.tables);
  const ConvSource w = {at<int8_t>(a, p.weights), bias, bias + p.out_c, bias + 2 * p.out_c};
  conv2d_reference(p, w, static_cast<const int8_t*>(a->operand[0]), static_cast<int8_t*>(a->operand[1]));
}

extern "C" bool conv2d_s8_scalar_check(const CheckArgs* a) { return conv_check(a, conv_plain_weights, conv_plain_tables, 0); }

}  // namespace corten
