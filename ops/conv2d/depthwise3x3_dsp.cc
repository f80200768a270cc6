// conv2d, DSP extension: depthwise 3x3, stride 1 or 2.
//
// Four channels at a time, two padded rows of the image are turned into words (upper, lower) of int16, per column and channel. Two
// such row pairs hold all the inputs of two output rows (stride 1) or of one (stride 2), and a multiply takes two taps of a column.
// The pairs roll: going down, the lower pair becomes the upper one. Input rows are read once, before the output rows that may
// overwrite them in place.
#include "ops/conv2d/pack_dsp.h"
#include "runtime/kernel.h"

namespace corten {

inline constexpr int32_t kGroup = 4;  // channels at a time: one word

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

// A channel's weights, unpacked: `first` (w0, w1) and `last` (w1, w2) of each column.
struct Taps {
  uint32_t first[3], last[3];
  int32_t bias, mult, addend, shift;
  Taps(const Depthwise3x3& c, int32_t twice_zero)
      : first{sxtb16(c.column[0]), sxtb16(c.column[1]), sxtb16(c.column[2])},
        last{sxtb16_ror8(c.column[0]), sxtb16_ror8(c.column[1]), sxtb16_ror8(c.column[2])},
        bias(dsp_bias(c.scale.word)),
        mult(c.scale.mult),
        addend(dsp_addend(twice_zero, c.scale.word)),
        shift(c.scale.word) {}
  int8_t output(int32_t acc) const { return dsp_requantise(acc, mult, addend, shift); }
  // Column s of a window whose first row is the upper one of pair p, or the lower one.
  int32_t upper(uint32_t p, uint32_t q, int32_t s, int32_t acc) const { return smlabt(q, last[s], smlad(p, first[s], acc)); }
  int32_t lower(uint32_t p, uint32_t q, int32_t s, int32_t acc) const { return smlad(q, last[s], smlatb(p, first[s], acc)); }
};

// Two output rows of a channel, stride 1. Where there is no second row its distance `down` is 0 and it is written first.
static void two_rows(const Taps& t, const uint32_t* p, const uint32_t* q, int8_t* y, int32_t down, int32_t width,
                     int32_t channels) {
  for (; width > 1; width -= 2, p += 2 * kGroup, q += 2 * kGroup, y += 2 * channels) {
    int32_t a0 = t.bias, a1 = a0, b0 = a0, b1 = a0;
    uint32_t u = p[0], v = q[0];
    a0 = t.upper(u, v, 0, a0), b0 = t.lower(u, v, 0, b0);
    u = p[kGroup], v = q[kGroup];
    a0 = t.upper(u, v, 1, a0), b0 = t.lower(u, v, 1, b0), a1 = t.upper(u, v, 0, a1), b1 = t.lower(u, v, 0, b1);
    u = p[2 * kGroup], v = q[2 * kGroup];
    a0 = t.upper(u, v, 2, a0), b0 = t.lower(u, v, 2, b0), a1 = t.upper(u, v, 1, a1), b1 = t.lower(u, v, 1, b1);
    u = p[3 * kGroup], v = q[3 * kGroup];
    a1 = t.upper(u, v, 2, a1), b1 = t.lower(u, v, 2, b1);
    y[down] = t.output(b0), y[down + channels] = t.output(b1);
    y[0] = t.output(a0), y[channels] = t.output(a1);
  }
  if (width) {
    int32_t a = t.bias, b = a;
    for (int32_t s = 0; s < 3; s++)
      a = t.upper(p[s * kGroup], q[s * kGroup], s, a), b = t.lower(p[s * kGroup], q[s * kGroup], s, b);
    y[down] = t.output(b), y[0] = t.output(a);
  }
}

// One output row of a channel, stride 2.
static void one_row(const Taps& t, const uint32_t* p, const uint32_t* q, int8_t* y, int32_t width, int32_t channels) {
  for (; width > 0; width--, p += 2 * kGroup, q += 2 * kGroup, y += channels) {
    int32_t a = t.upper(p[0], q[0], 0, t.bias);
    a = t.upper(p[kGroup], q[kGroup], 1, a);
    a = t.upper(p[2 * kGroup], q[2 * kGroup], 2, a);
    y[0] = t.output(a);
  }
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
    for (int32_t c = 0; c < n; c++) {
      const Taps taps(weights[c], twice_zero);
      if (rows == 2)
        two_rows(taps, upper + c, lower + c, y + c, left_rows > 1 ? out_row : 0, p.out_w, channels);
      else
        one_row(taps, upper + c, lower + c, y + c, p.out_w, channels);
    }
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
