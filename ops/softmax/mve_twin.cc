// softmax: the MVE row, portable.
#include "ops/softmax/reference.h"

namespace corten {

extern "C" void softmax_s8_mve(const KernelArgs* k) {
  softmax_reference(*static_cast<const SoftmaxParams*>(k->params),
                    at<uint32_t>(k, static_cast<const SoftmaxParams*>(k->params)->table), static_cast<const int8_t*>(k->operand[0]),
                    static_cast<int8_t*>(k->operand[1]));
}

extern "C" bool softmax_s8_mve_check(const CheckArgs* c) {
  return softmax_check(c) && softmax_fits_mve(*static_cast<const SoftmaxParams*>(c->params));
}

}  // namespace corten
