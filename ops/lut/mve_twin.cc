// lut: the MVE row, portable.
#include "ops/lut/reference.h"

namespace corten {

extern "C" void lut_s8_mve(const KernelArgs* k) {
  const LutParams& p = *static_cast<const LutParams*>(k->params);
  lut_reference(p, at<int8_t>(k, p.table), static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]));
}

extern "C" bool lut_s8_mve_check(const CheckArgs* c) {
  return lut_check(c) && static_cast<const LutParams*>(c->params)->channels == 1;
}

}  // namespace corten
