// Every quantize row against the reference, on the host and on the core.
#include "ops/quantize/constants.h"
#include "ops/quantize/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/quantize/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Numbers {
  uint32_t count;
  double scale;
  int zero, lo, hi;
};
static constexpr Numbers kCases[] = {{1, 0.5, 0, -128, 127}, {37, 0.1, -128, -128, 127}, {64, 1.0, 127, -128, 127},
                                     {100, 3e-7, 5, 0, 90},  {100, 2e9, -3, -128, 127},  {500, 0.0235, -7, -128, 127}};

static void fill_floats(float* x, const Numbers& s) {
  for (uint32_t i = 0; i < s.count; i++) x[i] = float((random_in(-300, 300) + 0.25 * random_in(0, 3)) * s.scale);
  const float inf = __builtin_inff();
  const float special[] = {__builtin_nanf(""), inf, -inf, 0.0f, -0.0f, 1e-42f, 3e38f, -3e38f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f};
  for (uint32_t i = 0; i < s.count && i < 13; i++) x[i] = special[i];
}

int main() {
  for (const Numbers& s : kCases) {
    const long number = &s - kCases;
    for (int direction = 0; direction < 2; direction++) {
      const QuantizeParams p =
          direction ? make_dequantize(s.count, s.scale, s.zero) : make_quantize(s.count, s.scale, s.zero, s.lo, s.hi);
      g_in.size[0] = direction ? s.count : s.count * 4;
      float* floats = static_cast<float*>(g_in.at(0));
      if (direction) {
        fill(g_in.s8(0), int32_t(s.count));
        dequantize_reference(p, g_in.s8(0), reinterpret_cast<float*>(g_want));
      } else {
        fill_floats(floats, s);
        quantize_reference(p, floats, reinterpret_cast<int8_t*>(g_want));
        expect(g_want[0] == uint8_t(s.zero), "quantize", number, "a NaN is not the zero point");
      }
      const Case c = {&p, sizeof p, 1, direction ? s.count * 4 : s.count, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row({#fn, fn, fn##_check, scratch, number + 1000 * direction}, c);
#include "ops/quantize/kernels.def"
#undef KERNEL
    }
  }
  return report();
}
