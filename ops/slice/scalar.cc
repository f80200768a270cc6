// slice, any core: the row that takes everything.
#include "ops/slice/reference.h"

namespace corten {

extern "C" void slice_s8_scalar(const KernelArgs* k) {
  strided_copy(static_cast<const SliceParams*>(k->params)->copy, static_cast<const uint8_t*>(k->operand[0]),
               static_cast<uint8_t*>(k->operand[1]));
}

extern "C" bool slice_s8_scalar_check(const CheckArgs* c) { return slice_check(c); }

}  // namespace corten
