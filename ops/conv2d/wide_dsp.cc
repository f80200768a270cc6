// conv2d, DSP extension: any dense or grouped convolution, with the full requantisation.
#include "ops/conv2d/dsp_gemm.h"
#include "runtime/fixed.h"

namespace corten {

struct WideRescale {
  static constexpr bool kCombined = false, kClamps = false;
  struct Channel {
    int32_t bias, mult, shift;
  };
  struct Entry {
    Channel a, b;
  };
  const ConvParams& p;
  explicit WideRescale(const ConvParams& params) : p(params) {}
  void start(const Entry& e, Sums& s) const {
    s.a0 = s.a1 = s.a2 = e.a.bias;
    s.b0 = s.b1 = s.b2 = e.b.bias;
  }
  int8_t output(int32_t acc, const Channel& c) const { return to_int8(requantise(acc, c.mult, c.shift), p.out_zero, p.lo, p.hi); }
  void finish(const Entry& e, const Sums& s, int8_t* y, int32_t d1, int32_t d2, bool both) const {
    if (both) y[d2 + 1] = output(s.b2, e.b), y[d1 + 1] = output(s.b1, e.b), y[1] = output(s.b0, e.b);
    y[d2] = output(s.a2, e.a), y[d1] = output(s.a1, e.a), y[0] = output(s.a0, e.a);
  }
};

extern "C" void conv2d_s8_dsp_wide(const KernelArgs* a) { conv_gemm<WideRescale>(a); }

extern "C" bool conv2d_s8_dsp_wide_check(const CheckArgs* a) {
  return conv_check(a, conv_dsp_weights, conv_wide_tables, 0) && a->scratch_bytes >= conv_dsp_scratch(conv_params(a));
}

}  // namespace corten
