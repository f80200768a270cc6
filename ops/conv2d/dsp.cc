// conv2d, DSP extension: dense and grouped convolutions whose scales fit DspScale, two output channels in one multiply.
#include "ops/conv2d/dsp_gemm.h"

namespace corten {

// Channel b's weights carry channel a's: the sums b come out as a + 256 * b, and b's entry is for 256 times the accumulator.
struct PairRescale {
  static constexpr bool kCombined = true, kClamps = true;
  struct Entry {
    DspScale a, b;
  };
  int32_t twice_zero;
  explicit PairRescale(const ConvParams& p) : twice_zero(2 * p.out_zero + 1) {}
  void start(const Entry& e, Sums& s) const {
    s.a0 = s.a1 = s.a2 = dsp_bias(e.a.word);
    s.b0 = s.b1 = s.b2 = int32_t(uint32_t(s.a0) + (uint32_t(e.b.word) & ~255u));
  }
  static int32_t times256(int32_t b, int32_t a) { return int32_t(uint32_t(b) - uint32_t(a)); }
  void finish(const Entry& e, const Sums& s, int8_t* y, int32_t d1, int32_t d2, bool both) const {
    int32_t mult = e.b.mult, word = e.b.word, addend = dsp_addend(twice_zero, word);
    if (both) {
      y[d2 + 1] = dsp_requantise(times256(s.b2, s.a2), mult, addend, word);
      y[d1 + 1] = dsp_requantise(times256(s.b1, s.a1), mult, addend, word);
      y[1] = dsp_requantise(times256(s.b0, s.a0), mult, addend, word);
    }
    mult = e.a.mult, word = e.a.word, addend = dsp_addend(twice_zero, word);
    y[d2] = dsp_requantise(s.a2, mult, addend, word);
    y[d1] = dsp_requantise(s.a1, mult, addend, word);
    y[0] = dsp_requantise(s.a0, mult, addend, word);
  }
};

extern "C" void conv2d_s8_dsp(const KernelArgs* a) { conv_gemm<PairRescale>(a); }

extern "C" bool conv2d_s8_dsp_check(const CheckArgs* a) {
  return conv_check(a, conv_dsp_weights, conv_pairs_tables, 0) && a->scratch_bytes >= conv_dsp_scratch(conv_params(a));
}

}  // namespace corten
