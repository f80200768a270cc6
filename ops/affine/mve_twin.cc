// affine: the MVE row, portable.
#include "ops/affine/reference.h"

namespace corten {

extern "C" void affine_s8_mve(const KernelArgs* k) {
  const AffineParams& p = *static_cast<const AffineParams*>(k->params);
  affine_reference(p, at<AffineChannel>(k, p.tables), static_cast<const int8_t*>(k->operand[0]),
                   static_cast<int8_t*>(k->operand[1]));
}

extern "C" bool affine_s8_mve_check(const CheckArgs* c) { return affine_check(c); }

}  // namespace corten
