// Every mul row against the reference, on the host and on the core.
#include "ops/mul/reference.h"
#include "test/broadcast_cases.h"

namespace corten {
#include "ops/mul/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Constants {
  Scale scale;
  int a_zero, b_zero, out_zero, lo, hi;
};
static constexpr Constants kConstants[] = {
    {{1518500250, 7}, 3, -4, 1, -128, 127},     {{1073741824, 8}, -128, -128, -128, -128, 127},
    {{2147483647, 1}, 127, -128, 0, -128, 127}, {{1200000000, -2}, 0, 0, 12, -100, 90},
    {{2147483647, -30}, 5, 6, 127, -128, 127},  {{0, 31}, 1, 1, -7, -128, 127},
    {{1900000001, 31}, 1, 1, -7, -128, 127},    {{1100000000, 0}, -1, 2, -128, -128, 127},
    {{1518500250, 8}, 3, -4, 1, -3, -3},
};

static MulParams params_of(const Broadcasting& s, const Constants& k) {
  MulParams p = {};
  p.scale = k.scale;
  p.a_zero = int8_t(k.a_zero), p.b_zero = int8_t(k.b_zero), p.out_zero = int8_t(k.out_zero), p.lo = int8_t(k.lo),
  p.hi = int8_t(k.hi);
  if (!make_broadcast(s.a_rank, s.a, s.b_rank, s.b, &p.shape)) p.shape.count = 0;
  return p;
}

int main() {
  long number = 0;
  for (const Broadcasting& s : kBroadcasts)
    for (const Constants& k : kConstants) {
      number++;
      const MulParams p = params_of(s, k);
      if (!broadcast_operands(s, "mul", number, p.shape)) continue;
      mul_reference(p, g_in.s8(0), g_in.s8(1), reinterpret_cast<int8_t*>(g_want));
      const Case c = {&p, sizeof p, 2, p.shape.count, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row_in_place({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/mul/kernels.def"
#undef KERNEL
    }
  return report();
}
