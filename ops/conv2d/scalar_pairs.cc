// conv2d without groups, cores without DSP: two pixels at a time. Their patches are expanded once into words that hold an input of
// each (scalar_inner.h); then all channels are computed from those, two at a time.
#include "ops/conv2d/pack_scalar.h"
#include "ops/conv2d/scalar_inner.h"
#include "runtime/kernel.h"
#include "runtime/scalar_scale.h"
#include "runtime/scale.h"

namespace corten {
namespace {

// Where an output's window lies. Coordinates wrap: those left of or above the image are huge.
struct Window {
  const int8_t* image;
  uint32_t iy, ix;
};

class Windows {
 public:
  Windows(const ConvParams& p, const int8_t* x) : p_(p), image_(x), iy_(0u - p.pad_t), ix_(0u - p.pad_l) {}
  Window next() {
    const Window w = {image_, iy_, ix_};
    ix_ += p_.stride_w;
    if (++ox_ == p_.out_w) {
      ox_ = 0, ix_ = 0u - p_.pad_l, iy_ += p_.stride_h;
      if (++oy_ == p_.out_h) oy_ = 0, iy_ = 0u - p_.pad_t, image_ += uint32_t(p_.in_h) * p_.in_w * p_.in_c;
    }
    return w;
  }

 private:
  const ConvParams& p_;
  const int8_t* image_;
  uint32_t iy_, ix_, oy_ = 0, ox_ = 0;
};

// The words of n inputs of each pixel.
int32_t* expand(int32_t* to, const int8_t* a, const int8_t* b, uint32_t n) {
#if defined(CORTEN_THUMB2)
  // In assembly for the order of the loads, which take one cycle each where they stand together.
  for (; n >= 4; n -= 4)
    asm("ldrsb r2, [%[a], #1]\n ldrsb r3, [%[a], #2]\n ldrsb r4, [%[a], #3]\n ldrsb r1, [%[a]], #4\n"
        "ldrsb r6, [%[b], #1]\n ldrsb r8, [%[b], #2]\n ldrsb r9, [%[b], #3]\n ldrsb r5, [%[b]], #4\n"
        "add r1, r1, r5, lsl #16\n add r2, r2, r6, lsl #16\n add r3, r3, r8, lsl #16\n add r4, r4, r9, lsl #16\n"
        "stm %[to]!, {r1, r2, r3, r4}\n"
        : [a] "+r"(a), [b] "+r"(b), [to] "+r"(to)
        :
        : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "memory");
#endif
  for (uint32_t i = 0; i < n; i++) to[i] = a[i] + b[i] * 65536;
  return to + n;
}
// The same for taps of which at least one pixel's lie outside the image (null).
int32_t* expand_border(int32_t* to, const int8_t* a, const int8_t* b, uint32_t n, int32_t zero) {
  for (uint32_t i = 0; i < n; i++) to[i] = (a ? a[i] : zero) + (b ? b[i] : zero) * 65536;
  return to + n;
}

class Patches {
 public:
  explicit Patches(const ConvParams& p)
      : p_(p), row_(uint32_t(p.in_w) * p.in_c), span_h_((p.k_h - 1u) * p.dil_h), span_w_((p.k_w - 1u) * p.dil_w) {}
  void expand_both(int32_t* to, const Window& a, const Window& b) const {
    if (inside(a) && inside(b) && p_.dil_w == 1)
      expand_rows(to, start(a), start(b));
    else
      expand_taps(to, a, b);
  }

 private:
  bool inside(const Window& w) const {
    return w.iy < p_.in_h && span_h_ < p_.in_h - w.iy && w.ix < p_.in_w && span_w_ < p_.in_w - w.ix;
  }
  const int8_t* start(const Window& w) const { return w.image + w.iy * row_ + w.ix * p_.in_c; }
  void expand_rows(int32_t* to, const int8_t* a, const int8_t* b) const {
    const uint32_t n = uint32_t(p_.k_w) * p_.in_c;
    for (uint32_t r = 0; r < p_.k_h; r++, a += p_.dil_h * row_, b += p_.dil_h * row_) to = expand(to, a, b, n);
  }
  const int8_t* tap(const Window& w, uint32_t r, uint32_t s) const {
    const Window t = {w.image, w.iy + r * p_.dil_h, w.ix + s * p_.dil_w};
    return t.iy < p_.in_h && t.ix < p_.in_w ? start(t) : nullptr;
  }
  void expand_taps(int32_t* to, const Window& a, const Window& b) const {
    for (uint32_t r = 0; r < p_.k_h; r++)
      for (uint32_t s = 0; s < p_.k_w; s++) {
        const int8_t *ta = tap(a, r, s), *tb = tap(b, r, s);
        to = ta && tb ? expand(to, ta, tb, p_.in_c) : expand_border(to, ta, tb, p_.in_c, p_.in_zero);
      }
  }

  const ConvParams& p_;
  const uint32_t row_, span_h_, span_w_;
};

// From a channel's two sums to its outputs: with tables of ShortScale, of DspScale, and with plain ones, which hold every scale and
// every sum. The first pixel is stored last: see `channels`.
struct ShortScales {
  const ShortScale* next;
  ScalarRange range;
  ShortScales(const ConvParams& p, const uint8_t* tables)
      : next(reinterpret_cast<const ShortScale*>(tables)), range{0, p.lo, p.hi} {}
  void store(PixelPair sum, int8_t* y, int8_t* second) {
    short_scaled_twice(sum.a, sum.b, next++);
    *second = scalar_clamp(sum.b, range);
    *y = scalar_clamp(sum.a, range);
  }
  void finish(int8_t* y, uint32_t n) const { scalar_finish(y, n, range); }
};
struct NarrowScales {
  const DspScale* next;
  ScalarRange range;
  NarrowScales(const ConvParams& p, const uint8_t* tables)
      : next(reinterpret_cast<const DspScale*>(tables)), range{2 * p.out_zero + 1, p.lo, p.hi} {}
  void store(const PixelPair& sum, int8_t* y, int8_t* second) {
    const DspScale scale = *next++;
    *second = scalar_output(sum.b, scale, range);
    *y = scalar_output(sum.a, scale, range);
  }
  void finish(int8_t* y, uint32_t n) const { scalar_finish(y, n, range); }
};
struct WideScales {
  const int32_t* next;
  uint32_t channels;
  int32_t zero, lo, hi;
  WideScales(const ConvParams& p, const uint8_t* tables)
      : next(reinterpret_cast<const int32_t*>(tables)), channels(p.out_c), zero(p.out_zero), lo(p.lo), hi(p.hi) {}
  void store(const PixelPair& sum, int8_t* y, int8_t* second) {
    const uint32_t bias = uint32_t(next[0]);
    const Scale scale = {next[channels], next[2 * channels]};
    next++;
    *second = to_int8(requantise(int32_t(uint32_t(sum.b) + bias), scale), zero, lo, hi);
    *y = to_int8(requantise(int32_t(uint32_t(sum.a) + bias), scale), zero, lo, hi);
  }
  void finish(int8_t*, uint32_t) const {}
};

// All channels of the two pixels whose patches are expanded in x. y and second: where they go. For a last pixel without a partner
// they are the same place; the first pixel is stored last. For the sake of the registers this is not inlined, and the scales are
// copied, as a store through y might change what a reference leads to.
template <class Scales>
[[gnu::noinline]] void channels(const int8_t* w, const Scales& all, const int32_t* x, uint32_t taps, int8_t* y, int8_t* second,
                                uint32_t out_c) {
  Scales scales = all;
  for (; out_c > 1; out_c -= 2) {
    const TwoChannels sum = dot_two_channels(reinterpret_cast<const uint32_t*>(w), x, taps);
    scales.store(sum.first, y++, second++);
    scales.store(sum.next, y++, second++);
    w += 2 * taps;
  }
  if (out_c > 0) scales.store(dot_one_channel(w, x, taps), y, second);
}

template <class Scales>
void pairs(const KernelArgs* args) {
  const ConvParams& p = *static_cast<const ConvParams*>(args->params);
  const int8_t* const weights = at<int8_t>(args, p.weights);
  const Scales scales(p, args->image + p.tables);
  int32_t* const x = static_cast<int32_t*>(args->scratch);
  int8_t* y = static_cast<int8_t*>(args->operand[1]);
  const uint32_t taps = conv_taps4(p), out_c = p.out_c;
  for (uint32_t k = uint32_t(conv_taps(p)); k < taps; k++) x[k] = 0;
  Windows windows(p, static_cast<const int8_t*>(args->operand[0]));
  const Patches patches(p);
  for (uint32_t left = uint32_t(p.n) * p.out_h * p.out_w; left > 0;) {
    const bool both = left > 1;
    const Window a = windows.next(), b = both ? windows.next() : a;
    patches.expand_both(x, a, b);
    channels(weights, scales, x, taps, y, both ? y + out_c : y, out_c);
    y += 2 * out_c, left -= both ? 2 : 1;
  }
  scales.finish(static_cast<int8_t*>(args->operand[1]), uint32_t(p.n) * p.out_h * p.out_w * out_c);
}

bool pairs_check(const CheckArgs* a, uint32_t tables_bytes(const ConvParams&)) {
  return conv_check(a, conv_scalar_weights, tables_bytes, 0) && conv_params(a).groups == 1 &&
         conv_taps4(conv_params(a)) <= kScalarTaps && a->scratch_bytes / 4 >= conv_taps4(conv_params(a));
}

}  // namespace

extern "C" void conv2d_s8_scalar_pairs_short(const KernelArgs* args) { pairs<ShortScales>(args); }
extern "C" bool conv2d_s8_scalar_pairs_short_check(const CheckArgs* a) { return pairs_check(a, conv_short_tables); }

extern "C" void conv2d_s8_scalar_pairs(const KernelArgs* args) { pairs<NarrowScales>(args); }
extern "C" bool conv2d_s8_scalar_pairs_check(const CheckArgs* a) { return pairs_check(a, conv_scalar_tables); }

extern "C" void conv2d_s8_scalar_pairs_wide(const KernelArgs* args) { pairs<WideScales>(args); }
extern "C" bool conv2d_s8_scalar_pairs_wide_check(const CheckArgs* a) { return pairs_check(a, conv_plain_tables); }

}  // namespace corten
