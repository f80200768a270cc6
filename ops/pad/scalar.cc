// pad, any core: the row that takes everything.
#include <string.h>

#include "ops/pad/reference.h"
#include "runtime/copy.h"

namespace corten {

// One innermost row: what lies before, the part inside x, what lies behind.
static void pad_row(const PadParams& p, const int8_t* row, int8_t* y) {
  const int32_t n = int32_t(p.in[5]), out = int32_t(p.out[5]), before = p.before[5];
  int32_t o = 0;
  const int32_t inside = before < 0 ? 0 : before < out ? before : out;
  const int32_t end = before + n < 0 ? 0 : before + n < out ? before + n : out;
  if (p.mode == kPadConstant) {
    memset(y, p.value, size_t(inside));
  } else {
    for (; o < inside; o++) y[o] = row[pad_source(p.mode, o - before, n)];
  }
  if (inside < end) copy_bytes(y + inside, row + (inside - before), uint32_t(end - inside));
  o = inside < end ? end : inside;
  if (p.mode == kPadConstant) {
    memset(y + o, p.value, size_t(out - o));
  } else {
    for (; o < out; o++) y[o] = row[pad_source(p.mode, o - before, n)];
  }
}

// The row of x that the output row `index` reads, or null where that is the constant.
static const int8_t* source_row(const PadParams& p, const uint32_t* index, const int8_t* x) {
  int32_t row = 0;
  for (int32_t d = 0; d < 5; d++) {
    const int32_t n = int32_t(p.in[d]), source = pad_source(p.mode, int32_t(index[d]) - p.before[d], n);
    if (source < 0) return nullptr;
    row = row * n + source;
  }
  return x + row * int32_t(p.in[5]);
}

extern "C" void pad_s8_scalar(const KernelArgs* k) {
  const PadParams& p = *static_cast<const PadParams*>(k->params);
  const int8_t* x = static_cast<const int8_t*>(k->operand[0]);
  int8_t* y = static_cast<int8_t*>(k->operand[1]);
  uint32_t index[5] = {};
  for (;;) {
    const int8_t* row = source_row(p, index, x);
    if (row) {
      pad_row(p, row, y);
    } else {
      memset(y, p.value, p.out[5]);
    }
    y += p.out[5];
    int32_t d = 4;
    while (d >= 0 && ++index[d] == p.out[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

extern "C" bool pad_s8_scalar_check(const CheckArgs* c) { return pad_check(c); }

}  // namespace corten
