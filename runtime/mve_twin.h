// What the portable twins of the MVE rows share: the arithmetic of the vector instructions, on one lane.
#pragma once
#include "runtime/fixed.h"

namespace corten {

// vqdmulh, vrshl by -shift: requantise() for shift >= 1. Wraps and saturates as the instructions do, whatever the numbers.
inline int32_t mve_requantise(uint32_t acc, int32_t mult, int32_t negative_shift) {
  const int32_t high = int32_t(acc) == INT32_MIN && mult == INT32_MIN ? INT32_MAX : int32_t((int64_t(int32_t(acc)) * mult) >> 31);
  const int32_t by = int8_t(negative_shift);
  if (by >= 32) return 0;
  if (by >= 0) return int32_t(uint32_t(high) << by);
  if (by <= -33) return 0;
  return int32_t((int64_t(high) + (int64_t(1) << (-by - 1))) >> -by);
}

}  // namespace corten
