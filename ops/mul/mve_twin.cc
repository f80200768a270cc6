// mul: the MVE row, portable.
#include "ops/mul/reference.h"

namespace corten {

extern "C" void mul_s8_mve(const KernelArgs* k) {
  mul_reference(*static_cast<const MulParams*>(k->params), static_cast<const int8_t*>(k->operand[0]),
                static_cast<const int8_t*>(k->operand[1]), static_cast<int8_t*>(k->operand[2]));
}

extern "C" bool mul_s8_mve_check(const CheckArgs* c) {
  return mul_check(c) && mul_fits_mve(*static_cast<const MulParams*>(c->params));
}

}  // namespace corten
