// lut on MVE: sixteen bytes gathered at a time.
#include "ops/lut/reference.h"

namespace corten {

extern "C" void lut_s8_mve(const KernelArgs* k) {
  const LutParams& p = *static_cast<const LutParams*>(k->params);
  const int8_t* table = at<int8_t>(k, p.table);
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  asm volatile(
      "vmov.i8 q2, #128\n"
      "wlstp.8 lr, %[n], 2f\n"
      "1:\n"
      "vldrb.8 q0, [%[x]], #16\n"
      "veor q0, q0, q2\n"
      "vldrb.u8 q1, [%[table], q0]\n"
      "vstrb.8 q1, [%[y]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [x] "+l"(x), [y] "+l"(y)
      : [n] "r"(p.count), [table] "r"(table)
      : "q0", "q1", "q2", "lr", "cc", "memory");
}

extern "C" bool lut_s8_mve_check(const CheckArgs* c) {
  return lut_check(c) && static_cast<const LutParams*>(c->params)->channels == 1;
}

}  // namespace corten
