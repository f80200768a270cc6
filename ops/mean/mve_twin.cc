// mean: the MVE rows, portable.
#include "ops/mean/reference.h"

namespace corten {

static void run(const KernelArgs* k) {
  mean_reference(*static_cast<const MeanParams*>(k->params), static_cast<const int8_t*>(k->operand[0]),
                 static_cast<int8_t*>(k->operand[1]));
}

extern "C" void mean_s8_mve_columns(const KernelArgs* k) { run(k); }

extern "C" bool mean_s8_mve_columns_check(const CheckArgs* c) {
  return mean_check(c) && mean_is_columns(*static_cast<const MeanParams*>(c->params));
}

extern "C" void mean_s8_mve_rows(const KernelArgs* k) { run(k); }

extern "C" bool mean_s8_mve_rows_check(const CheckArgs* c) {
  return mean_check(c) && mean_is_rows(*static_cast<const MeanParams*>(c->params));
}

}  // namespace corten
