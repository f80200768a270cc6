// Every conv2d row against the reference, on the host and on the core.
#include "ops/conv2d/overlap.h"
#include "ops/conv2d/reference.h"
#include "test/kernel_test.h"

namespace corten {
#define KERNEL(tier, fn, ...)            \
  extern "C" void fn(const KernelArgs*); \
  extern "C" bool fn##_check(const CheckArgs*);
#include "ops/conv2d/kernels.def"
#undef KERNEL
}  // namespace corten
using namespace corten;
using namespace corten::test;

struct Case {
  int n, in_h, in_w, in_c, out_c, groups, k_h, k_w, stride_h, stride_w, pad_t, pad_l, pad_b, pad_r, dil_h, dil_w;
  int in_zero, out_zero, lo, hi, shift;  // shift: base of the channels' shifts
  int weight_min;  // -127; -128 for weights that use the whole range; -129 for one -128 in each channel, and extreme inputs
};
static constexpr Case kCases[] = {
#if defined(CORTEN_BENCH)
#include "ops/conv2d/bench.inc"
#else
#include "ops/conv2d/cases.inc"
#endif
};

constexpr int kBytes = 40000, kWeightBytes = kBench ? 66000 : kBytes, kChannels = 300;
static Buffer<kBytes> g_in, g_want, g_got, g_scratch;
static int8_t g_weights[kWeightBytes];
static int32_t g_bias[kChannels], g_mult[kChannels], g_shift[kChannels];
alignas(16) static uint8_t g_image[kBench ? 2 * kWeightBytes + 8000 : 3 * kBytes];

static ConvParams params_of(const Case& c) {
  ConvParams p = {};
  p.n = c.n, p.in_h = c.in_h, p.in_w = c.in_w, p.in_c = c.in_c, p.out_c = c.out_c, p.groups = c.groups;
  p.k_h = c.k_h, p.k_w = c.k_w, p.stride_h = c.stride_h, p.stride_w = c.stride_w, p.dil_h = c.dil_h, p.dil_w = c.dil_w;
  p.pad_t = c.pad_t, p.pad_l = c.pad_l, p.in_zero = c.in_zero, p.out_zero = c.out_zero, p.lo = c.lo, p.hi = c.hi;
  p.out_h = (c.in_h + c.pad_t + c.pad_b - (c.k_h - 1) * c.dil_h - 1) / c.stride_h + 1;
  p.out_w = (c.in_w + c.pad_l + c.pad_r - (c.k_w - 1) * c.dil_w - 1) / c.stride_w + 1;
  return p;
}

static void fill_source(ConvParams& p, const Case& c) {
  const int32_t taps = conv_taps(p);
  fill(g_weights, p.out_c * taps, c.weight_min < -128 ? -127 : c.weight_min, 127);
  for (int32_t o = 0; c.weight_min < -128 && o < p.out_c; o++)
    g_weights[o * taps + o % taps] = -128, g_weights[o * taps + (o + 1) % taps] = -127;
  int64_t most = 0;
  bool positive = true;
  for (int32_t o = 0; o < p.out_c; o++) {
    int32_t sum = 0, magnitude = 0;
    for (int32_t k = 0; k < taps; k++)
      sum += g_weights[o * taps + k], magnitude += g_weights[o * taps + k] < 0 ? -g_weights[o * taps + k] : g_weights[o * taps + k];
    g_bias[o] = random_in(-3000, 3000) - p.in_zero * sum;
    g_mult[o] = random_in(1 << 30, 0x7fffffff), g_shift[o] = c.shift + o % 3;
    if (o % 11 == 10) g_mult[o] = o % 2, g_shift[o] = 31;  // a dead channel
    if (o % 13 == 6) {                                     // a channel without weights: its output is a constant
      memset(g_weights + o * taps, 0, size_t(taps));
      magnitude = 0, g_bias[o] = random_in(-(1 << 29), 1 << 29), g_shift[o] = 23 + o % 3;
    }
    positive = positive && g_shift[o] >= 1;
    const int64_t reach = int64_t(magnitude) * 128 + (g_bias[o] < 0 ? -int64_t(g_bias[o]) : g_bias[o]);
    most = reach > most ? reach : most;
  }
  p.flags =
      (positive ? kConvShiftsPositive : 0) | (most < (1 << 30) ? kConvAcc30 : 0) | (p.out_zero == p.lo ? kConvOutZeroIsLo : 0);
  p.flags |= conv_tap_facts(p, g_weights) | conv_dsp_facts(p, {g_weights, g_bias, g_mult, g_shift}) |
             conv_scalar_facts(p, {g_weights, g_bias, g_mult, g_shift});
}

// One run of a row: apart, or with the output as near to the input as it may be (over: both in one buffer).
static void run_row(const char* name, KernelFn run, CheckFn check, ConvParams p, int32_t scratch, const ConvPacking& packing,
                    long row, const ConvOverlap* over) {
  const ConvSource source = {g_weights, g_bias, g_mult, g_shift};
  const int32_t in = p.n * p.in_h * p.in_w * p.in_c, out = p.n * p.out_h * p.out_w * p.out_c;
  p.weights = 64, p.weights_bytes = packing.weights_bytes(p);
  p.tables = (p.weights + p.weights_bytes + 15) / 16 * 16, p.tables_bytes = packing.tables_bytes(p);
  const uint32_t image_bytes = p.tables + p.tables_bytes;
  if (!expect(image_bytes <= sizeof g_image && scratch <= kBytes, name, row, "the test's buffers are too small")) return;
  memset(g_image, 0x5A, sizeof g_image);
  packing.pack(p, source, g_image + p.weights, g_image + p.tables);
  expect(image_bytes == sizeof g_image || g_image[image_bytes] == 0x5A, name, row, "the packing wrote past its bytes");
  const uint32_t sizes[] = {uint32_t(in), uint32_t(out)};
  CheckArgs ca = {&p, sizeof p, image_bytes, sizes, 2, uint32_t(scratch)};
  if (!expect(check(&ca), name, row, "its check refuses it")) return;
  ca.image_bytes--;
  expect(!check(&ca), name, row, "its check accepts an image one byte short");
  // Offsets of both in the output's buffer, 16-aligned as the planner keeps them.
  const int32_t distance = over ? over->exact ? over->distance : (over->distance + 15) & ~15 : 0;
  const int32_t out_at = distance < 0 ? (-distance < in ? -distance : (in + 15) & ~15) : 0, in_at = out_at + distance;
  const int32_t end = in_at + in > out_at + out ? in_at + in : out_at + out;
  if (over && end > kBytes) return;
  g_got.arm(over ? end : out), g_scratch.arm(scratch);
  if (over) memcpy(g_got.s8() + in_at, g_in.data(), size_t(in));
  void* operands[] = {over ? g_got.s8() + in_at : g_in.data(), g_got.s8() + out_at};
  const KernelArgs ka = {&p, g_image, operands, g_scratch.data()};
  over ? run(&ka) : call(name, row, run, &ka);
  expect(g_got.intact(), name, row, over ? "wrote outside while over its input" : "wrote outside its output");
  expect(g_scratch.intact(), name, row, "wrote outside its scratch");
  expect_equal(name, row + (over ? 1000 : 0), g_want.s8(), g_got.s8() + out_at, out);
}

int main() {
  for (const Case& c : kCases) {
    const long row = &c - kCases;
    ConvParams p = params_of(c);
    const int32_t in = p.n * p.in_h * p.in_w * p.in_c, out = p.n * p.out_h * p.out_w * p.out_c;
    if (!expect(in <= kBytes && out <= kBytes && p.out_c <= kChannels && p.out_c * conv_taps(p) <= kWeightBytes, "conv2d", row,
                "case too large"))
      continue;
    fill_source(p, c);
    fill(g_in.s8(), in, row % 3 == 2 ? -20 : -128, 127);
    for (int32_t i = 0; c.weight_min < -128 && i < in; i++) g_in.s8()[i] = g_in.s8()[i] < 64 ? -128 : 127;  // the largest products
    conv2d_reference(p, {g_weights, g_bias, g_mult, g_shift}, g_in.s8(), g_want.s8());
    const uint32_t goals[] = {0, kConvForSize};
    for (const uint32_t goal : goals) {
      p.flags = (p.flags & ~kConvForSize) | goal;
#define KERNEL(tier, fn, usable, scratch, packing, overlap)                               \
  if (Tier::tier <= kTier && (usable)) {                                                  \
    const ConvOverlap how = overlap;                                                      \
    run_row(#fn, fn, fn##_check, p, int32_t(scratch), packing, row, nullptr);             \
    if (!how.none) run_row(#fn, fn, fn##_check, p, int32_t(scratch), packing, row, &how); \
  }
#include "ops/conv2d/kernels.def"
#undef KERNEL
    }
  }
  return report();
}
