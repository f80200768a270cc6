// softmax and log_softmax, any core: the row that takes everything.
#include "ops/softmax/reference.h"

namespace corten {

extern "C" void softmax_s8_scalar(const KernelArgs* k) {
  const SoftmaxParams& p = *static_cast<const SoftmaxParams*>(k->params);
  softmax_reference(p, at<uint32_t>(k, p.table), static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]));
}

extern "C" bool softmax_s8_scalar_check(const CheckArgs* c) { return softmax_check(c); }

}  // namespace corten
