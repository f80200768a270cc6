// Every transpose row against the reference, on the host and on the core.
#include "ops/transpose/constants.h"
#include "ops/transpose/reference.h"
#include "test/op_test.h"

namespace corten {
#include "ops/transpose/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Shape {
  int32_t rank;
  uint32_t shape[6];
};
static constexpr Shape kShapes[] = {{1, {1}},           {1, {37}},          {2, {1, 5}},          {2, {8, 16}},
                                    {2, {33, 47}},      {3, {3, 7, 5}},     {3, {1, 16, 31}},     {4, {2, 3, 4, 5}},
                                    {4, {1, 12, 2, 8}}, {4, {2, 9, 9, 16}}, {5, {2, 1, 3, 4, 2}}, {6, {2, 3, 2, 3, 2, 3}}};

// The next permutation in lexicographic order; false after the last.
static bool next_permutation(int32_t* perm, int32_t n) {
  int32_t i = n - 2;
  while (i >= 0 && perm[i] > perm[i + 1]) i--;
  if (i < 0) return false;
  int32_t j = n - 1;
  while (perm[j] < perm[i]) j--;
  const auto swap = [perm](int32_t a, int32_t b) {
    const int32_t t = perm[a];
    perm[a] = perm[b], perm[b] = t;
  };
  swap(i, j);
  for (int32_t lo = i + 1, hi = n - 1; lo < hi; lo++, hi--) swap(lo, hi);
  return true;
}

// By definition, so that make_transpose is tested too: y[i] = x at the permuted index.
static void permute(const Shape& s, const int32_t* perm, const int8_t* x, uint8_t* y, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t index[6], rest = i, at = 0;
    for (int32_t d = s.rank - 1; d >= 0; d--) index[perm[d]] = rest % s.shape[perm[d]], rest /= s.shape[perm[d]];
    for (int32_t d = 0; d < s.rank; d++) at = at * s.shape[d] + index[d];
    y[i] = uint8_t(x[at]);
  }
}

int main() {
  long number = 0;
  for (const Shape& s : kShapes) {
    int32_t perm[6] = {0, 1, 2, 3, 4, 5};
    do {
      number++;
      uint32_t count = 1;
      for (int32_t d = 0; d < s.rank; d++) count *= s.shape[d];
      TransposeParams p;
      if (!expect(make_transpose(s.rank, s.shape, perm, &p), "transpose", number, "its shape is refused")) continue;
      g_in.size[0] = count;
      fill(g_in.s8(0), int32_t(count));
      permute(s, perm, g_in.s8(0), g_want, count);
      transpose_reference(p, g_in.s8(0), g_out.s8());
      expect_equal("transpose_reference", number, reinterpret_cast<const int8_t*>(g_want), g_out.s8(), int32_t(count));
      const Case c = {&p, sizeof p, 1, count, 0};
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) test_row({#fn, fn, fn##_check, scratch, number}, c);
#include "ops/transpose/kernels.def"
#undef KERNEL
    } while (next_permutation(perm, s.rank));
  }
  return report();
}
