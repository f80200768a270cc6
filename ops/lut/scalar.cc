// lut, any core.
#include "ops/lut/reference.h"

namespace corten {

extern "C" void lut_s8_scalar(const KernelArgs* k) {
  const LutParams& p = *static_cast<const LutParams*>(k->params);
  const int8_t* middle = at<int8_t>(k, p.table) + 128;
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  uint32_t i = 0;
  for (; i + 4 <= p.count; i += 4) {
    const int8_t a = middle[x[i]], b = middle[x[i + 1]], c = middle[x[i + 2]], d = middle[x[i + 3]];
    y[i] = a, y[i + 1] = b, y[i + 2] = c, y[i + 3] = d;
  }
  for (; i < p.count; i++) y[i] = middle[x[i]];
}

extern "C" bool lut_s8_scalar_check(const CheckArgs* c) {
  return lut_check(c) && static_cast<const LutParams*>(c->params)->channels == 1;
}

extern "C" void lut_s8_scalar_channels(const KernelArgs* k) {
  const LutParams& p = *static_cast<const LutParams*>(k->params);
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  for (uint32_t i = 0; i < p.count;) {
    const int8_t* middle = at<int8_t>(k, p.table) + 128;
    for (uint32_t c = 0; c < p.channels; c++, i++, middle += 256) y[i] = middle[x[i]];
  }
}

extern "C" bool lut_s8_scalar_channels_check(const CheckArgs* c) { return lut_check(c); }

}  // namespace corten
