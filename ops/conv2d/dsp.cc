// conv2d, DSP extension: dense and grouped convolutions whose scales fit DspScale, two output channels in one multiply.
#include "ops/conv2d/dsp_gemm.h"

namespace corten {

extern "C" void conv2d_s8_dsp(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const int32_t go = conv_group_out(p), out_c = p.out_c, steps = conv_dsp_taps(p) / 2;
  const int32_t group_words = conv_dsp_pairs(p) * conv_pair_words(p);
  const uint32_t* stream = at<uint32_t>(a, p.weights);
  PairTile tile = {stream, static_cast<uint32_t*>(a->scratch), nullptr, 0, 0, 2 * p.out_zero + 1, steps, (steps + 15) / 16,
                   nullptr};
  const bool narrow = p.lo != -128 || p.hi != 127;
  for_each_tile(p, a, [&](int32_t group, int32_t n, int8_t* y) {
    tile.stream = stream + group * group_words;
    tile.y = y, tile.end = y + go;
    tile.d1 = n > 1 ? out_c : 0, tile.d2 = n > 2 ? 2 * out_c : 0;
    conv2d_dsp_pair_tile(&tile);
    if (narrow)
      for (int32_t i = 0; i < n; i++) clamp_bytes(y + i * out_c, go, p.lo, p.hi);
  });
}

extern "C" bool conv2d_s8_dsp_check(const CheckArgs* a) {
  return conv_check(a, conv_pairs_weights, conv_no_tables, 0) && a->scratch_bytes >= conv_dsp_scratch(conv_params(a));
}

}  // namespace corten
