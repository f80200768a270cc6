// Every linear row against the reference, on the host and on the core.
#include "ops/linear/packings.h"
#include "ops/linear/reference.h"
#include "test/kernel_test.h"

namespace corten {
#define KERNEL(tier, fn, usable, scratch, packing) \
  extern "C" void fn(const KernelArgs*);           \
  extern "C" bool fn##_check(const CheckArgs*);
#include "ops/linear/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Case {
  uint32_t rows, in, out;
  int in_zero, out_zero, lo, hi, shift;  // shift: base of the channels' shifts
  bool per_tensor;
  int weight_min;
};
static constexpr Case kCases[] = {
#if defined(CORTEN_BENCH)
#include "ops/linear/bench.inc"
#else
    {1, 1, 1, 0, 0, -128, 127, 6, false, -127},         {1, 4, 3, 5, -3, -128, 127, 7, false, -127},
    {2, 7, 5, -128, 127, -128, 127, 7, false, -128},    {3, 16, 2, 1, 1, 1, 127, 8, false, -127},
    {1, 36, 4, 0, 0, -128, 127, 9, true, -127},         {2, 33, 3, 9, 8, -8, 100, 9, false, -127},
    {1, 64, 12, -128, 13, -128, 127, 10, false, -127},  {1, 640, 16, 7, -128, -128, 127, 11, false, -127},
    {1, 128, 8, -128, -128, -128, 127, 10, true, -127}, {1, 8, 128, -128, -128, -128, 127, 8, false, -127},
    {5, 24, 9, 3, 4, -128, 127, 9, false, -127},        {1, 250, 37, 3, 4, -128, 127, 10, false, -127},
    {1, 13, 6, 3, 4, -128, 127, -3, false, -127},       {1, 48, 7, 3, 4, -128, 127, 0, true, -127},
    {4, 32, 32, 3, 4, -128, 127, 9, false, -128},       {1, 2, 300, 3, 4, -128, 127, 6, false, -127},
#endif
};

constexpr int kBytes = 20000, kWeightBytes = kBench ? 82000 : kBytes, kChannels = 640;
static Buffer<kBytes> g_in, g_want, g_got, g_scratch;
static int8_t g_weights[kWeightBytes];
static int32_t g_bias[kChannels], g_mult[kChannels], g_shift[kChannels];
alignas(16) static uint8_t g_image[kBench ? 2 * kWeightBytes + 12000 : 3 * kBytes];

static void fill_source(LinearParams& p, const Case& c) {
  fill(g_weights, int32_t(p.out * p.in), c.weight_min, 127);
  int64_t most = 0;
  bool positive = true;
  for (uint32_t o = 0; o < p.out; o++) {
    int32_t sum = 0, magnitude = 0;
    for (uint32_t k = 0; k < p.in; k++) {
      const int32_t w = g_weights[o * p.in + k];
      sum += w, magnitude += w < 0 ? -w : w;
    }
    g_bias[o] = random_in(-3000, 3000) - p.in_zero * sum;
    g_mult[o] = random_in(1 << 30, 0x7fffffff), g_shift[o] = c.shift + int32_t(o % 3);
    if (o % 11 == 10) g_mult[o] = int32_t(o % 2), g_shift[o] = 31;  // a dead channel
    if (c.per_tensor) g_mult[o] = g_mult[0], g_shift[o] = g_shift[0];
    positive = positive && g_shift[o] >= 1;
    const int64_t reach = int64_t(magnitude) * 128 + (g_bias[o] < 0 ? -int64_t(g_bias[o]) : g_bias[o]);
    most = reach > most ? reach : most;
  }
  p.flags = (positive ? kLinearShiftsPositive : 0) | (most < (1 << 30) ? kLinearAcc30 : 0) | (c.per_tensor ? kLinearPerTensor : 0);
  p.flags |= linear_dsp_facts(p, {g_weights, g_bias, g_mult, g_shift});
}

static void run_row(const char* name, KernelFn run, CheckFn check, LinearParams p, int32_t scratch, const LinearPacking& packing,
                    long row) {
  const LinearSource source = {g_weights, g_bias, g_mult, g_shift};
  const uint32_t in = p.rows * p.in, out = p.rows * p.out;
  p.weights = 64, p.weights_bytes = packing.weights_bytes(p);
  p.tables = (p.weights + p.weights_bytes + 15) / 16 * 16, p.tables_bytes = packing.tables_bytes(p);
  const uint32_t image_bytes = p.tables + p.tables_bytes;
  if (!expect(image_bytes <= sizeof g_image && scratch <= kBytes, name, row, "the test's buffers are too small")) return;
  memset(g_image, 0x5A, sizeof g_image);
  packing.pack(p, source, g_image + p.weights, g_image + p.tables);
  expect(image_bytes == sizeof g_image || g_image[image_bytes] == 0x5A, name, row, "the packing wrote past its bytes");
  const uint32_t sizes[] = {in, out};
  CheckArgs ca = {&p, sizeof p, image_bytes, sizes, 2, uint32_t(scratch)};
  if (!expect(check(&ca), name, row, "its check refuses it")) return;
  ca.image_bytes--;
  expect(!check(&ca), name, row, "its check accepts an image one byte short");
  g_got.arm(int32_t(out)), g_scratch.arm(scratch);
  void* operands[] = {g_in.data(), g_got.data()};
  const KernelArgs ka = {&p, g_image, operands, g_scratch.data()};
  call(name, row, run, &ka);
  expect(g_got.intact(), name, row, "wrote outside its output");
  expect(g_scratch.intact(), name, row, "wrote outside its scratch");
  expect_equal(name, row, g_want.s8(), g_got.s8(), int32_t(out));
}

int main() {
  for (const Case& c : kCases) {
    const long row = &c - kCases;
    LinearParams p = {};
    p.rows = c.rows, p.in = c.in, p.out = c.out;
    p.in_zero = int8_t(c.in_zero), p.out_zero = int8_t(c.out_zero), p.lo = int8_t(c.lo), p.hi = int8_t(c.hi);
    fill_source(p, c);
    fill(g_in.s8(), int32_t(p.rows * p.in), row % 3 == 2 ? -20 : -128, 127);
    linear_reference(p, {g_weights, g_bias, g_mult, g_shift}, g_in.s8(), g_want.s8());
    const uint32_t facts = p.flags, goals[] = {kLinearForSpeed, kLinearForSize, 0};
    for (int goal = 0; goal < (kBench ? 1 : 3); goal++) {  // speed has every row
      p.flags = facts | goals[goal];
#define KERNEL(tier, fn, usable, scratch, packing) \
  if (Tier::tier <= kTier && (usable)) run_row(#fn, fn, fn##_check, p, int32_t(scratch), packing, row);
#include "ops/linear/kernels.def"
#undef KERNEL
    }
  }
  return report();
}
