// conv2d, DSP extension: depthwise, any window, four channels at a time.
#include "ops/conv2d/dsp_inner.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

// The sums of four channels.
struct Four {
  int32_t a, b, c, d;
  void tap(uint32_t x, uint32_t w) {
    const uint32_t x_ac = sxtb16(x), x_bd = sxtb16_ror8(x), w_ac = sxtb16(w), w_bd = sxtb16_ror8(w);
    a = smlabb(x_ac, w_ac, a), c = smlatt(x_ac, w_ac, c);
    b = smlabb(x_bd, w_bd, b), d = smlatt(x_bd, w_bd, d);
  }
};

// `count` taps that lie `step` bytes apart, all inside the image.
static inline void taps_in_line(Four& sums, const int8_t* x, int32_t step, const uint32_t* w, int32_t count) {
  Four s = sums;
  for (const uint32_t* end = w + count; w != end; x += step) s.tap(load4(x), *w++);
  sums = s;
}

// A window that sticks out of the image, or of fewer than four channels.
static __attribute__((noinline)) void taps_one_by_one(const ConvParams& p, Four& s, const int8_t* image, int32_t iy, int32_t ix,
                                                      const uint32_t* w, int32_t channels) {
  for (int32_t r = 0; r < p.k_h; r++, iy += p.dil_h)
    for (int32_t k = 0, column = ix; k < p.k_w; k++, column += p.dil_w) {
      const bool inside = iy >= 0 && iy < p.in_h && column >= 0 && column < p.in_w;
      const uint32_t zero = uint8_t(p.in_zero) * 0x01010101u;
      s.tap(inside ? load_channels(image + (iy * p.in_w + column) * p.in_c, channels) : zero, *w++);
    }
}

static void window(const ConvParams& p, Four& s, const int8_t* image, int32_t iy, int32_t ix, const uint32_t* w, int32_t channels) {
  const bool inside = iy >= 0 && iy + (p.k_h - 1) * p.dil_h < p.in_h && ix >= 0 && ix + (p.k_w - 1) * p.dil_w < p.in_w;
  if (!inside || channels != 4) return taps_one_by_one(p, s, image, iy, ix, w, channels);
  const int32_t row = p.in_w * p.in_c;
  const int8_t* x = image + iy * row + ix * p.in_c;
  if (p.k_w == 1) return taps_in_line(s, x, p.dil_h * row, w, p.k_h);
  for (int32_t r = p.k_h; r > 0; r--, x += p.dil_h * row, w += p.k_w) taps_in_line(s, x, p.dil_w * p.in_c, w, p.k_w);
}

// All pixels of the four channels (or fewer) that image and y point at.
template <class Rescale>
static void depthwise_four(const ConvParams& p, const Rescale& rescale, const typename Rescale::Channel* table, const uint32_t* w,
                           const int8_t* image, int8_t* y, int32_t channels) {
  for (int32_t oy = 0; oy < p.out_h; oy++)
    for (int32_t ox = 0; ox < p.out_w; ox++, y += p.out_c) {
      Four s = {Rescale::bias(table[0]), Rescale::bias(table[1]), Rescale::bias(table[2]), Rescale::bias(table[3])};
      window(p, s, image, oy * p.stride_h - p.pad_t, ox * p.stride_w - p.pad_l, w, channels);
      y[0] = rescale.output(s.a, table[0]);
      if (channels > 1) y[1] = rescale.output(s.b, table[1]);
      if (channels > 2) y[2] = rescale.output(s.c, table[2]);
      if (channels > 3) y[3] = rescale.output(s.d, table[3]);
    }
}

template <class Rescale>
static void depthwise(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const int32_t in = p.in_h * p.in_w * p.in_c, out = p.out_h * p.out_w * p.out_c;
  const Rescale rescale(p);
  for (int32_t i = 0; i < p.n; i++) {
    const int8_t* x = static_cast<const int8_t*>(a->operand[0]) + i * in;
    int8_t* y = static_cast<int8_t*>(a->operand[1]) + i * out;
    const uint32_t* w = at<uint32_t>(a, p.weights);
    const typename Rescale::Channel* table = at<typename Rescale::Channel>(a, p.tables);
    for (int32_t c = 0; c < p.out_c; c += 4, w += p.k_h * p.k_w, table += 4)
      depthwise_four(p, rescale, table, w, x + c, y + c, p.out_c - c < 4 ? p.out_c - c : 4);
  }
}

struct ExactRescale {
  using Channel = DspScale;
  int32_t twice_zero;
  explicit ExactRescale(const ConvParams& p) : twice_zero(2 * p.out_zero + 1) {}
  static int32_t bias(const Channel& c) { return dsp_bias(c.word); }
  int8_t output(int32_t acc, const Channel& c) const { return dsp_requantise(acc, c.mult, dsp_addend(twice_zero, c.word), c.word); }
};
struct WideRescale {
  using Channel = ConvWideChannel;
  const ConvParams& p;
  explicit WideRescale(const ConvParams& params) : p(params) {}
  static int32_t bias(const Channel& c) { return c.bias; }
  int8_t output(int32_t acc, const Channel& c) const { return to_int8(requantise(acc, c.mult, c.shift), p.out_zero, p.lo, p.hi); }
};

extern "C" void conv2d_s8_dsp_depthwise(const KernelArgs* a) {
  depthwise<ExactRescale>(a);
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  if (p.lo != -128 || p.hi != 127) clamp_bytes(static_cast<int8_t*>(a->operand[1]), p.n * p.out_h * p.out_w * p.out_c, p.lo, p.hi);
}
extern "C" bool conv2d_s8_dsp_depthwise_check(const CheckArgs* a) {
  return conv_check(a, conv_fours_weights, conv_fours_tables, 0) && conv_is_depthwise1(conv_params(a));
}

extern "C" void conv2d_s8_dsp_depthwise_wide(const KernelArgs* a) { depthwise<WideRescale>(a); }
extern "C" bool conv2d_s8_dsp_depthwise_wide_check(const CheckArgs* a) {
  return conv_check(a, conv_fours_weights, conv_fours_wide_tables, 0) && conv_is_depthwise1(conv_params(a));
}

}  // namespace corten
