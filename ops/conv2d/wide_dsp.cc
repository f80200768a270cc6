// conv2d, DSP extension: any dense or grouped convolution, with the full requantisation.
#include "ops/conv2d/dsp_gemm.h"
#include "runtime/fixed.h"

namespace corten {

static int8_t output(const ConvParams& p, int32_t acc, const ConvWideChannel& c) {
  return to_int8(requantise(acc, c.mult, c.shift), p.out_zero, p.lo, p.hi);
}

class WideTile {
 public:
  WideTile(const ConvParams& params, const KernelArgs* args) : p(params), a(args) {}
  void begin(int32_t group) {
    const int32_t pairs = conv_dsp_pairs(p);
    first_taps = at<uint32_t>(a, p.weights) + group * (pairs * conv_dsp_taps(p) / 2);
    first_channel = at<ConvWideChannel>(a, p.tables) + group * (2 * pairs);
  }
  // A pixel that is not there lies over pixel 0 and is written before it.
  void operator()(int32_t n, int8_t* y) const {
    const uint32_t *taps = first_taps, *x = static_cast<uint32_t*>(a->scratch);
    const ConvWideChannel* channel = first_channel;
    const int32_t steps = conv_dsp_taps(p) / 2, d1 = n > 1 ? p.out_c : 0, d2 = n > 2 ? 2 * p.out_c : 0;
    for (int32_t left = conv_group_out(p); left > 0; left -= 2, channel += 2, y += 2) {
      const ConvWideChannel &even = channel[0], &odd = channel[1];
      Sums s = {even.bias, even.bias, even.bias, odd.bias, odd.bias, odd.bias};
      taps = dot_2x3(steps, taps, x, s);
      y[d2] = output(p, s.a2, even), y[d1] = output(p, s.a1, even), y[0] = output(p, s.a0, even);
      if (left > 1) y[d2 + 1] = output(p, s.b2, odd), y[d1 + 1] = output(p, s.b1, odd), y[1] = output(p, s.b0, odd);
    }
  }

 private:
  const ConvParams& p;
  const KernelArgs* a;
  const uint32_t* first_taps = nullptr;
  const ConvWideChannel* first_channel = nullptr;
};

extern "C" void conv2d_s8_dsp_wide(const KernelArgs* a) { run_tiles<WideTile>(a); }

extern "C" bool conv2d_s8_dsp_wide_check(const CheckArgs* a) {
  return conv_check(a, conv_wide_weights, conv_wide_tables, 0) && a->scratch_bytes >= conv_dsp_scratch(conv_params(a));
}

}  // namespace corten
