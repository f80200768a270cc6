// resize, any core: the row that takes everything.
#include "ops/resize/reference.h"
#include "runtime/copy.h"

namespace corten {

static int8_t* resize_row(const ResizeParams& p, const int8_t* row, int8_t* y) {
  for (uint32_t j = 0; j < p.out_w; j++, y += p.c) copy_bytes(y, row + resize_index(p.columns, j, p.in_w) * p.c, p.c);
  return y;
}

extern "C" void resize_s8_scalar(const KernelArgs* k) {
  const ResizeParams& p = *static_cast<const ResizeParams*>(k->params);
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  const uint32_t in_row = uint32_t(p.in_w) * p.c, out_row = uint32_t(p.out_w) * p.c;
  for (uint32_t n = 0; n < p.n; n++, x += p.in_h * in_row) {
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < p.out_h; i++) {
      const uint32_t row = resize_index(p.rows, i, p.in_h);
      if (row == last) {  // the row above, again
        copy_bytes(y, y - out_row, out_row);
        y += out_row;
      } else {
        y = resize_row(p, x + row * in_row, y);
      }
      last = row;
    }
  }
}

extern "C" bool resize_s8_scalar_check(const CheckArgs* a) { return resize_check(a); }

}  // namespace corten
