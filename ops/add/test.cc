// Every add row against the reference, on the host and on the core.
#include "ops/add/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/add/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shapes {
  int32_t a_rank;
  uint32_t a[5];
  int32_t b_rank;
  uint32_t b[5];
};
static constexpr Shapes kCases[] = {
#if defined(CORTEN_BENCH)
#include "ops/add/bench.inc"
#else
    {1, {1}, 1, {1}},  // one element
    {1, {5}, 1, {5}},  // less than a vector
    {1, {16}, 1, {16}},
    {1, {259}, 1, {259}},  // a tail of 3
    {4, {1, 5, 7, 33}, 4, {1, 5, 7, 33}},
    {4, {1, 8, 8, 16}, 4, {1, 1, 1, 16}},  // per channel
    {4, {1, 3, 3, 19}, 1, {19}},
    {4, {1, 1, 1, 24}, 4, {2, 5, 5, 24}},
    {4, {2, 5, 5, 24}, 4, {2, 1, 1, 24}},  // per image and channel
    {4, {1, 4, 6, 8}, 4, {1, 4, 6, 1}},    // per pixel
    {2, {40, 7}, 1, {1}},                  // a scalar
    {1, {1}, 2, {40, 7}},
    {4, {1, 4, 3, 1}, 4, {1, 1, 1, 5}},  // an outer sum
    {2, {13, 1}, 2, {1, 37}},
    {5, {2, 1, 3, 1, 5}, 5, {1, 4, 1, 6, 5}},  // does not collapse to four dims
    {4, {2, 3, 4, 5}, 4, {2, 1, 4, 1}},
    {3, {7, 1, 40}, 2, {9, 40}},
#endif
};
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

static AddParams params_of(const Shapes& s, const Constants& k) {
  AddParams p = {};
  p.a_mult = k.a, p.b_mult = k.b, p.offset = k.offset;
  p.shift = uint8_t(k.shift), p.lo = int8_t(k.lo), p.hi = int8_t(k.hi);
  if (!make_broadcast(s.a_rank, s.a, s.b_rank, s.b, &p.shape)) p.shape.count = 0;
  return p;
}

static uint32_t volume(int32_t rank, const uint32_t* extent) {
  uint32_t n = 1;
  for (int32_t d = 0; d < rank; d++) n *= extent[d];
  return n;
}

int main() {
  long number = -1;
  for (const Shapes& s : kCases)
    for (const Constants& k : kConstants) {
      if (kBench && &k != kConstants) continue;  // they cost the same
      number++;
      const AddParams p = params_of(s, k);
      if (p.shape.count == 0) {
        expect(s.a_rank == 5, "add", number, "a shape does not collapse");
        continue;
      }
      g_in.size[0] = volume(s.a_rank, s.a), g_in.size[1] = volume(s.b_rank, s.b);
      for (int i = 0; i < 2; i++) fill(g_in.s8(i), int32_t(g_in.size[i]), number % 3 == 2 ? -20 : -128, 127);
      add_reference(p, g_in.s8(0), g_in.s8(1), reinterpret_cast<int8_t*>(g_want));
      const Case c = {&p, sizeof p, 2, p.shape.count, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row_in_place({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/add/kernels.def"
#undef KERNEL
    }
  return report();
}
