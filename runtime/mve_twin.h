// What the portable twins of the MVE rows share.
#pragma once
#include "runtime/fixed.h"

namespace corten {

// Any packed numbers are taken, as the vector instructions do.
inline int32_t mve_requantise(uint32_t acc, int32_t mult, int32_t negative_shift) {
  return requantise(int32_t(acc), mult, clamp(-clamp(negative_shift, -31, 31), -30, 31));
}

}  // namespace corten
