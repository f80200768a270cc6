// conv2d, DSP extension: depthwise along one axis (k_w 1 or k_h 1, stride 1), for the tall windows of audio networks.
//
// Four channels of a line at a time: its positions are turned into words (position 2j, position 2j + 1) of int16, per channel; then
// four outputs run over them at once, two taps to a multiply. The line is read before its outputs are written.
#include "ops/conv2d/dsp_inner.h"
#include "runtime/kernel.h"

namespace corten {

static void fill_line(uint32_t* pairs, const ConvLines& l, const int8_t* x, uint32_t zero, int32_t count, int32_t channels) {
  for (int32_t at = -l.pad; count > 0; count--, at += 2, pairs += kDepthwiseGroup) {
    const bool first = at >= 0 && at < l.in, second = at + 1 >= 0 && at + 1 < l.in;
    const int8_t* from = x + (first ? at : 0) * l.in_step;
    store_pairs(pairs, first ? load_channels(from, channels) : zero,
                second ? load_channels(x + (at + 1) * l.in_step, channels) : zero);
  }
}

// One channel of a line. The last four outputs may lie behind its end: they have the place of the first of them, and are written
// first.
static const uint32_t* line_outputs(const ConvLines& l, const uint32_t* weights, const uint32_t* pairs, int8_t* y, int32_t words,
                                    int32_t twice_zero) {
  const uint32_t* scale = weights + words;
  const int32_t bias = dsp_bias(int32_t(scale[0])), shift = int32_t(scale[0]), mult = int32_t(scale[1]);
  const int32_t addend = dsp_addend(twice_zero, shift), step = l.out_step;
  for (int32_t left = l.out; left > 0; left -= 4, pairs += 2 * kDepthwiseGroup, y += 4 * step) {
    int32_t a = bias, b = bias, c = bias, d = bias;
    const uint32_t* at = pairs;
    uint32_t here = *at;
    for (const uint32_t* w = weights; w != scale; w++) {
      const uint32_t even = sxtb16(*w), odd = sxtb16_ror8(*w), next = *(at += kDepthwiseGroup);
      a = smlad(here, even, a), b = smlad(here, odd, b);
      c = smlad(next, even, c), d = smlad(next, odd, d);
      here = next;
    }
    y[left > 3 ? 3 * step : 0] = dsp_requantise(d, mult, addend, shift);
    y[left > 2 ? 2 * step : 0] = dsp_requantise(c, mult, addend, shift);
    y[left > 1 ? step : 0] = dsp_requantise(b, mult, addend, shift);
    y[0] = dsp_requantise(a, mult, addend, shift);
  }
  return scale + 2;
}

extern "C" void conv2d_s8_dsp_depthwise_lines(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const ConvLines l = conv_lines(p);
  const int32_t words = int32_t(conv_line_words(p)), count = int32_t(conv_lines_pairs(p)), twice_zero = 2 * p.out_zero + 1;
  const uint32_t zero = uint8_t(p.in_zero) * 0x01010101u;
  uint32_t* pairs = static_cast<uint32_t*>(a->scratch);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  for (int32_t i = 0; i < p.n; i++, x += l.in * p.in_c * l.lines, y += l.out * p.out_c * l.lines) {
    const uint32_t* weights = at<uint32_t>(a, p.weights);
    for (int32_t c = 0; c < p.out_c; c += kDepthwiseGroup) {
      const int32_t channels = p.out_c - c < kDepthwiseGroup ? p.out_c - c : kDepthwiseGroup;
      const uint32_t* behind = weights;
      for (int32_t line = 0; line < l.lines; line++) {
        fill_line(pairs, l, x + line * l.in_line + c, zero, count, channels);
        behind = weights;
        for (int32_t k = 0; k < channels; k++)
          behind = line_outputs(l, behind, pairs + k, y + line * l.out_line + c + k, words, twice_zero);
      }
      weights = behind;
    }
  }
  if (p.lo == -128 && p.hi == 127) return;
  clamp_bytes(static_cast<int8_t*>(a->operand[1]), p.n * l.lines * l.out * p.out_c, p.lo, p.hi);
}

extern "C" bool conv2d_s8_dsp_depthwise_lines_check(const CheckArgs* a) {
  return conv_check(a, conv_lines_weights, conv_no_tables, 0) && conv_is_depthwise_lines(conv_params(a)) &&
         a->scratch_bytes >= conv_lines_scratch(conv_params(a));
}

}  // namespace corten
