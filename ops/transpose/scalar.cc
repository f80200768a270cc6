// transpose, any core: the row that takes everything.
#include "ops/transpose/reference.h"

namespace corten {

extern "C" void transpose_s8_scalar(const KernelArgs* k) {
  strided_copy(static_cast<const TransposeParams*>(k->params)->copy, static_cast<const uint8_t*>(k->operand[0]),
               static_cast<uint8_t*>(k->operand[1]));
}

extern "C" bool transpose_s8_scalar_check(const CheckArgs* c) { return transpose_check(c); }

}  // namespace corten
