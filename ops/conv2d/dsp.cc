// conv2d, DSP extension: dense and grouped convolutions whose scales fit DspScale, two output channels in one multiply.
#include "ops/conv2d/dsp_gemm.h"

namespace corten {

// All channels of a group; the assembly saturates to int8, a narrower clamp follows.
class CombinedTile {
 public:
  CombinedTile(const ConvParams& params, const KernelArgs* a) : p(params), stream(at<uint32_t>(a, p.weights)) {
    const int32_t steps = conv_dsp_taps(p) / 2;
    tile = {stream, static_cast<uint32_t*>(a->scratch), nullptr, 0, 0, 2 * p.out_zero + 1, steps, (steps + 14) / 16, nullptr};
  }
  void begin(int32_t group) { tile.stream = stream + group * (conv_dsp_pairs(p) * conv_pair_words(p)); }
  void operator()(int32_t n, int8_t* y) {
    const int32_t go = conv_group_out(p), out_c = p.out_c;
    tile.y = y, tile.end = y + go;
    tile.d1 = n > 1 ? out_c : 0, tile.d2 = n > 2 ? 2 * out_c : 0;
    conv2d_dsp_pair_tile(&tile);
    if (p.lo != -128 || p.hi != 127)
      for (int32_t i = 0; i < n; i++) clamp_bytes(y + i * out_c, go, p.lo, p.hi);
  }

 private:
  const ConvParams& p;
  const uint32_t* stream;
  PairTile tile;
};

extern "C" void conv2d_s8_dsp(const KernelArgs* a) { run_tiles<CombinedTile>(a); }

extern "C" bool conv2d_s8_dsp_check(const CheckArgs* a) {
  return conv_check(a, conv_pairs_weights, conv_no_tables, 0) && a->scratch_bytes >= conv_dsp_scratch(conv_params(a));
}

}  // namespace corten
