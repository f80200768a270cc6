// add: the MVE row, portable.
#include "ops/add/reference.h"

namespace corten {

extern "C" void add_s8_mve(const KernelArgs* k) {
  add_reference(*static_cast<const AddParams*>(k->params), static_cast<const int8_t*>(k->operand[0]),
                static_cast<const int8_t*>(k->operand[1]), static_cast<int8_t*>(k->operand[2]));
}

extern "C" bool add_s8_mve_check(const CheckArgs* c) {
  return add_check(c) && has_unit_steps(static_cast<const AddParams*>(c->params)->shape);
}

}  // namespace corten
