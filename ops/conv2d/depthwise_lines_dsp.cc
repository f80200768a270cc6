// conv2d, DSP extension: depthwise along one axis (k_w 1 or k_h 1, stride 1), for the tall windows of audio networks.
//
// Four channels of a line at a time: its positions are turned into words (position 2j, position 2j + 1) of int16, per channel; then
// four outputs run over them at once, two taps to a multiply. The line is read before its outputs are written.
#include "ops/conv2d/dsp_inner.h"
#include "runtime/kernel.h"

namespace corten {

static void fill_line(uint32_t* pairs, const uint32_t* end, const ConvLines& l, const int8_t* x, uint32_t zero, int32_t channels) {
  const auto load = [&](int32_t at) { return at >= 0 && at < l.in ? load_channels(x + at * l.in_step, channels) : zero; };
  int32_t at = -l.pad;
  for (; pairs != end && at < 0; at += 2, pairs += kDepthwiseGroup) store_pairs(pairs, load(at), load(at + 1));
  if (channels == kDepthwiseGroup) {
    const int32_t step = 2 * l.in_step;
    const int8_t *first = x + at * l.in_step, *second = first + l.in_step;
    for (; end - pairs > kDepthwiseGroup && at + 3 < l.in; at += 4, pairs += 2 * kDepthwiseGroup) {
      const uint32_t third = load4(first + step), fourth = load4(second + step);
      store_pairs(pairs, load4(first), load4(second));
      store_pairs(pairs + kDepthwiseGroup, third, fourth);
      first += 2 * step, second += 2 * step;
    }
    for (; pairs != end && at + 1 < l.in; at += 2, pairs += kDepthwiseGroup, first += step, second += step)
      store_pairs(pairs, load4(first), load4(second));
  }
  for (; pairs != end; at += 2, pairs += kDepthwiseGroup) store_pairs(pairs, load(at), load(at + 1));
}

extern "C" void conv2d_s8_dsp_depthwise_lines(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const ConvLines l = conv_lines(p);
  const int32_t words = int32_t(conv_line_words(p)), count = int32_t(conv_lines_pairs(p));
  const uint32_t zero = uint8_t(p.in_zero) * 0x01010101u;
  uint32_t* pairs = static_cast<uint32_t*>(a->scratch);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  Line line = {nullptr, pairs, nullptr, l.out_step, l.out, words, 2 * p.out_zero + 1, kDepthwiseGroup};
  for (int32_t n = 0; n < p.n; n++, x += l.in * p.in_c * l.lines, y += l.out * p.out_c * l.lines) {
    for (int32_t c = 0; c < p.out_c; c += kDepthwiseGroup) {
      line.channels = p.out_c - c < kDepthwiseGroup ? p.out_c - c : kDepthwiseGroup;
      line.weights = at<uint32_t>(a, p.weights) + c * (line.words + 2);
      for (int32_t i = 0; i < l.lines; i++) {
        line.y = y + i * l.out_line + c;
        fill_line(pairs, pairs + count * kDepthwiseGroup, l, x + i * l.in_line + c, zero, line.channels);
        conv2d_dsp_line(&line);
      }
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
