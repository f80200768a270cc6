// pool: the MVE rows, portable.
#include "ops/pool/reference.h"

namespace corten {

static void run(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  pool_reference(p, at<Scale>(k, p.scales), static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]));
}

extern "C" void pool_s8_mve_max(const KernelArgs* k) { run(k); }

extern "C" bool pool_s8_mve_max_check(const CheckArgs* a) { return pool_check(a, kPoolMax); }

extern "C" void pool_s8_mve_average(const KernelArgs* k) { run(k); }

extern "C" bool pool_s8_mve_average_check(const CheckArgs* a) { return pool_check(a, kPoolAverage); }

}  // namespace corten
