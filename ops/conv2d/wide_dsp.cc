// conv2d, DSP extension: any dense or grouped convolution, with the full requantisation.
#include "ops/conv2d/dsp_gemm.h"
#include "runtime/fixed.h"

namespace corten {

static int8_t output(const ConvParams& p, int32_t acc, const ConvWideChannel& c) {
  return to_int8(requantise(acc, c.mult, c.shift), p.out_zero, p.lo, p.hi);
}

// A pixel that is not there lies over pixel 0 and is written before it.
static void wide_tile(const ConvParams& p, const uint32_t* taps, const ConvWideChannel* channel, const uint32_t* x, int32_t n,
                      int8_t* y) {
  const int32_t steps = conv_dsp_taps(p) / 2, d1 = n > 1 ? p.out_c : 0, d2 = n > 2 ? 2 * p.out_c : 0;
  for (int32_t left = conv_group_out(p); left > 0; left -= 2, channel += 2, y += 2) {
    const ConvWideChannel &a = channel[0], &b = channel[1];
    Sums s = {a.bias, a.bias, a.bias, b.bias, b.bias, b.bias};
    taps = dot_2x3(steps, taps, x, s);
    y[d2] = output(p, s.a2, a), y[d1] = output(p, s.a1, a), y[0] = output(p, s.a0, a);
    if (left > 1) y[d2 + 1] = output(p, s.b2, b), y[d1 + 1] = output(p, s.b1, b), y[1] = output(p, s.b0, b);
  }
}

extern "C" void conv2d_s8_dsp_wide(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const int32_t pairs = conv_dsp_pairs(p), words = conv_dsp_taps(p) / 2;
  for_each_tile(p, a, [&](int32_t group, int32_t n, int8_t* y) {
    const uint32_t* taps = at<uint32_t>(a, p.weights) + group * pairs * words;
    const ConvWideChannel* channels = at<ConvWideChannel>(a, p.tables) + group * pairs * 2;
    wide_tile(p, taps, channels, static_cast<uint32_t*>(a->scratch), n, y);
  });
}

extern "C" bool conv2d_s8_dsp_wide_check(const CheckArgs* a) {
  return conv_check(a, conv_wide_weights, conv_wide_tables, 0) && a->scratch_bytes >= conv_dsp_scratch(conv_params(a));
}

}  // namespace corten
