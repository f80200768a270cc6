// concat, any core: the row that takes everything.
#include "ops/concat/reference.h"
#include "runtime/copy.h"

namespace corten {

extern "C" void concat_s8_scalar(const KernelArgs* a) {
  const ConcatParams& p = *static_cast<const ConcatParams*>(a->params);
  uint8_t* y = static_cast<uint8_t*>(a->operand[p.inputs]);
  for (uint32_t o = 0; o < p.outer; o++)
    for (uint32_t k = 0; k < p.inputs; k++) {
      copy_bytes(y, static_cast<const uint8_t*>(a->operand[k]) + o * p.inner[k], p.inner[k]);
      y += p.inner[k];
    }
}

extern "C" bool concat_s8_scalar_check(const CheckArgs* c) { return concat_check(c); }

}  // namespace corten
