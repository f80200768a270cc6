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

// Up to four bytes, so that the last channels are read without the bytes behind them.
static uint32_t load_channels(const int8_t* x, int32_t n) {
  uint32_t v = 0;
  for (int32_t i = 0; i < n; i++) v |= uint32_t(uint8_t(x[i])) << (8 * i);
  return v;
}

static inline void store_pairs(uint32_t* to, uint32_t upper, uint32_t lower) {
  const uint32_t low = pkhbt(upper, lower), high = pkhtb(upper, lower);
  to[0] = sxtb16(low), to[1] = sxtb16_ror8(low), to[2] = sxtb16(high), to[3] = sxtb16_ror8(high);
}

// A row of the image, or of padding: then the step is 0 and the address that of one padding pixel.
struct Row {
  const int8_t* x;
  int32_t step;
};

// Columns of one row pair: `left` of padding, then `inside` of the image, then padding.
struct Columns {
  int32_t left, inside, right;
};

static void fill_pair(uint32_t* to, Row upper, Row lower, const Columns& columns, uint32_t zero, int32_t channels) {
  for (int32_t i = columns.left; i > 0; i--, to += kGroup) store_pairs(to, zero, zero);
  if (channels == kGroup) {
    for (int32_t i = columns.inside; i > 0; i--, to += kGroup, upper.x += upper.step, lower.x += lower.step)
      store_pairs(to, load4(upper.x), load4(lower.x));
  } else {
    for (int32_t i = columns.inside; i > 0; i--, to += kGroup, upper.x += upper.step, lower.x += lower.step)
      store_pairs(to, load_channels(upper.x, channels), load_channels(lower.x, channels));
  }
  for (int32_t i = columns.right; i > 0; i--, to += kGroup) store_pairs(to, zero, zero);
}

// Channels c .. c + n - 1 of one image.
static void depthwise_group(const ConvParams& p, const Depthwise3x3* weights, const int8_t* x, int8_t* y, int32_t n,
                            uint32_t* scratch) {
  const int32_t columns = int32_t(conv_depthwise3x3_columns(p)), channels = p.in_c, row = p.in_w * channels,
                out_row = p.out_w * channels;
  const int32_t left = p.pad_l < columns ? p.pad_l : columns, inside = p.in_w < columns - left ? p.in_w : columns - left;
  const Columns spans = {left, inside, columns - left - inside};
  const uint32_t zero = uint8_t(p.in_zero) * 0x01010101u;
  const Row padding = {reinterpret_cast<const int8_t*>(&zero), 0};
  const int32_t rows = p.stride_h == 1 ? 2 : 1, twice_zero = 2 * p.out_zero + 1;
  uint32_t *upper = scratch, *lower = scratch + columns * kGroup;
  int32_t iy = -p.pad_t;
  const auto fill = [&](uint32_t* to) {
    const Row first = iy >= 0 && iy < p.in_h ? Row{x + iy * row, channels} : padding;
    iy++;
    const Row second = iy >= 0 && iy < p.in_h ? Row{x + iy * row, channels} : padding;
    iy++;
    fill_pair(to, first, second, spans, zero, n);
  };
  fill(lower);
  for (int32_t left_rows = p.out_h; left_rows > 0; left_rows -= rows, y += rows * out_row) {
    uint32_t* const spent = upper;
    upper = lower, lower = spent;
    fill(lower);
    const RowPairs pairs = {weights, upper, lower, y, left_rows > 1 ? out_row : 0, channels, p.out_w, twice_zero, n};
    if (rows == 2)
      conv2d_dsp_two_rows(&pairs);
    else
      conv2d_dsp_one_row(&pairs);
  }
}

extern "C" void conv2d_s8_dsp_depthwise3x3(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const int32_t in = p.in_h * p.in_w * p.in_c, out = p.out_h * p.out_w * p.out_c;
  const Depthwise3x3* weights = at<Depthwise3x3>(a, p.weights);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  for (int32_t i = 0; i < p.n; i++, x += in, y += out)
    for (int32_t c = 0; c < p.out_c; c += kGroup) {
      const int32_t n = p.out_c - c < kGroup ? p.out_c - c : kGroup;
      depthwise_group(p, weights + c, x + c, y + c, n, static_cast<uint32_t*>(a->scratch));
    }
  if (p.lo != -128 || p.hi != 127) clamp_bytes(static_cast<int8_t*>(a->operand[1]), p.n * out, p.lo, p.hi);
}

extern "C" bool conv2d_s8_dsp_depthwise3x3_check(const CheckArgs* a) {
  return conv_check(a, conv_depthwise3x3_weights, conv_no_tables, 0) && conv_is_depthwise3x3(conv_params(a)) &&
         a->scratch_bytes >= conv_depthwise3x3_scratch(conv_params(a));
}

}  // namespace corten
