// conv2d, DSP extension: depthwise 3x3, stride 1 or 2.
//
// Four channels at a time, two padded rows of the image are turned into words (upper, lower) of int16, per column and channel. Two
// such row pairs hold all the inputs of two output rows (stride 1) or of one (stride 2), and a multiply takes two taps of a column.
// The pairs roll: going down, the lower pair becomes the upper one. Input rows are read once, before the output rows that may
// overwrite them in place.
#include "ops/conv2d/dsp_inner.h"
#include "runtime/kernel.h"

namespace corten {

static constexpr int32_t kGroup = kDepthwiseGroup;

// Fills row pairs with up to four channels of an image, two padded rows at a time, going down. The columns left and right of the
// image hold padding from the start.
struct PairFiller {
  const int8_t* x;
  int32_t iy, height, row, columns, step, channels;  // `columns` of the image, `step` bytes apart
  uint32_t zero;                                     // a pixel of padding

  void next(uint32_t* to) {
    const bool upper_inside = iy >= 0 && iy < height, lower_inside = iy + 1 >= 0 && iy + 1 < height;
    const int8_t* padding = reinterpret_cast<const int8_t*>(&zero);
    const int8_t *upper = upper_inside ? x + iy * row : padding, *lower = lower_inside ? x + (iy + 1) * row : padding;
    const int32_t upper_step = upper_inside ? step : 0, lower_step = lower_inside ? step : 0;
    iy += 2;
    int32_t i = columns;
    if (channels == kGroup && upper_inside && lower_inside)
      for (; i > 1; i -= 2, to += 2 * kGroup, upper += 2 * step, lower += 2 * step) {
        const uint32_t next_upper = load4(upper + step), next_lower = load4(lower + step);
        store_pairs(to, load4(upper), load4(lower));
        store_pairs(to + kGroup, next_upper, next_lower);
      }
    for (; i > 0; i--, to += kGroup, upper += upper_step, lower += lower_step)
      store_pairs(to, load_channels(upper, channels), load_channels(lower, channels));
  }
};

extern "C" void conv2d_s8_dsp_depthwise3x3(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const int32_t width = int32_t(conv_depthwise3x3_columns(p)), left = p.pad_l < width ? p.pad_l : width;
  const int32_t inside = p.in_w < width - left ? p.in_w : width - left;
  const int32_t row = p.in_w * p.in_c, out_row = p.out_w * p.out_c, rows = p.stride_h == 1 ? 2 : 1;
  const uint32_t zero = uint8_t(p.in_zero) * 0x01010101u;
  uint32_t *upper = static_cast<uint32_t*>(a->scratch), *lower = upper + width * kGroup;
  for (int32_t i = 0; i < 2 * width; i++) store_pairs(upper + i * kGroup, zero, zero);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  RowPairs pairs = {
      at<Depthwise3x3>(a, p.weights), nullptr, nullptr, nullptr, out_row, p.out_c, p.out_w, 2 * p.out_zero + 1, kGroup};
  for (int32_t i = 0; i < p.n; i++, x += p.in_h * row, y += p.out_h * out_row)
    for (int32_t c = 0; c < p.out_c; c += kGroup) {
      pairs.channels = p.out_c - c < kGroup ? p.out_c - c : kGroup;
      pairs.weights = at<Depthwise3x3>(a, p.weights) + c, pairs.y = y + c, pairs.down = out_row;
      PairFiller filler = {x + c, -p.pad_t, p.in_h, row, inside, p.in_c, pairs.channels, zero};
      filler.next(lower + left * kGroup);
      for (int32_t oy = p.out_h; oy > 0; oy -= rows, pairs.y += rows * out_row) {
        uint32_t* const spent = upper;
        upper = lower, lower = spent;
        filler.next(lower + left * kGroup);
        pairs.p = upper, pairs.q = lower;
        if (oy == 1) pairs.down = 0;
        if (rows == 2)
          conv2d_dsp_two_rows(&pairs);
        else
          conv2d_dsp_one_row(&pairs);
      }
    }
  if (p.lo == -128 && p.hi == 127) return;
  clamp_bytes(static_cast<int8_t*>(a->operand[1]), p.n * p.out_h * out_row, p.lo, p.hi);
}

extern "C" bool conv2d_s8_dsp_depthwise3x3_check(const CheckArgs* a) {
  return conv_check(a, conv_depthwise3x3_weights, conv_no_tables, 0) && conv_is_depthwise3x3(conv_params(a)) &&
         a->scratch_bytes >= conv_depthwise3x3_scratch(conv_params(a));
}

}  // namespace corten
