// Every add row against the reference, on the host and on the core.
#include "ops/add/reference.h"
#include "test/broadcast_cases.h"

namespace corten {
#include "ops/add/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

#if defined(CORTEN_BENCH)
static constexpr Broadcasting kCases[] = {
#include "ops/add/bench.inc"
};
#else
static constexpr auto& kCases = kBroadcasts;
#endif
struct Constants {
  int32_t a, b, offset;
  int shift, lo, hi;
};
static constexpr Constants kConstants[] = {
    {1398101, 2001033, 1048576, 21, -128, 127},
    {-2097152, 2097152, 1 << 20, 21, -128, 127},
    {300, -7, 90, 3, -100, 90},
    {1, 1, 0, 0, -128, 127},
    {4194304, 4194304, 1073741824, 22, 0, 127},
    {0, 0, INT32_MIN, 31, -128, 127},
    {INT32_MAX, INT32_MIN, INT32_MAX, 24, -128, 127},
    {52429, 123456, -5000000, 16, -128, 127},
    {52429, 123456, -500000, 15, -8, -8},
};

static AddParams params_of(const Broadcasting& s, const Constants& k) {
  AddParams p = {};
  p.a_mult = k.a, p.b_mult = k.b, p.offset = k.offset;
  p.shift = uint8_t(k.shift), p.lo = int8_t(k.lo), p.hi = int8_t(k.hi);
  if (!make_broadcast(s.a_rank, s.a, s.b_rank, s.b, &p.shape)) p.shape.count = 0;
  return p;
}

int main() {
  long number = -1;
  for (const Broadcasting& s : kCases)
    for (const Constants& k : kConstants) {
      if (kBench && &k != kConstants) continue;  // they cost the same
      number++;
      const AddParams p = params_of(s, k);
      if (!broadcast_operands(s, "add", number, p.shape)) continue;
      add_reference(p, g_in.s8(0), g_in.s8(1), reinterpret_cast<int8_t*>(g_want));
      const Case c = {&p, sizeof p, 2, p.shape.count, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row_in_place({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/add/kernels.def"
#undef KERNEL
    }
  return report();
}
