// The DSP convolution, whatever its shape: three pixels' taps are widened to int16 in scratch, then each pair of output channels
// runs over them. `Rescale` says how a pair's table entry starts the sums and ends them.
#pragma once
#include "ops/conv2d/dsp_inner.h"
#include "ops/conv2d/pack_dsp.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

inline constexpr int32_t kLanes = 3;  // pixels at a time

// Widens n bytes, a multiple of four, into one lane.
inline uint32_t* widen(uint32_t* lane, const int8_t* x, int32_t n) {
  const int8_t* end = x + n;
  for (; x != end; x += 4, lane += 2 * kLanes) {
    const uint32_t v = load4(x);
    lane[0] = sxtb16(v), lane[kLanes] = sxtb16_ror8(v);
  }
  return lane;
}
inline uint32_t* widen_zero(uint32_t* lane, int32_t in_zero, int32_t n) {
  const uint32_t pair = uint32_t(in_zero & 0xffff) * 0x10001u;
  for (; n > 0; n -= 4, lane += 2 * kLanes) lane[0] = lane[kLanes] = pair;
  return lane;
}

// Collects the taps of a pixel: straight into its lane if every run of bytes is whole words, else by way of `bytes`.
struct TapSink {
  uint32_t* lane;
  int8_t* bytes;
  bool words;
  int32_t in_zero;
  void run(const int8_t* x, int32_t n) {
    if (words) {
      lane = widen(lane, x, n);
    } else {
      for (; n >= 4; n -= 4, x += 4, bytes += 4) store4(bytes, load4(x));
      for (; n > 0; n--) *bytes++ = *x++;
    }
  }
  void zero(int32_t n) {
    if (words) {
      lane = widen_zero(lane, in_zero, n);
    } else {
      for (; n > 0; n--) *bytes++ = int8_t(in_zero);
    }
  }
};

// The window whose first tap is at (iy, ix) of image `x`, which points at the group's first channel.
inline void gather_taps(const ConvParams& p, const int8_t* x, int32_t iy, int32_t ix, TapSink& sink) {
  const int32_t gi = conv_group_in(p), row = p.in_w * p.in_c;
  const bool dense = p.groups == 1 && p.dil_w == 1;
  const int32_t left = clamp(-ix, 0, p.k_w), right = clamp(p.in_w - ix, left, p.k_w);
  for (int32_t r = 0; r < p.k_h; r++, iy += p.dil_h) {
    if (iy < 0 || iy >= p.in_h) {
      sink.zero(p.k_w * gi);
    } else if (dense) {
      if (left) sink.zero(left * gi);
      if (right > left) sink.run(x + iy * row + (ix + left) * gi, (right - left) * gi);
      if (right < p.k_w) sink.zero((p.k_w - right) * gi);
    } else {
      for (int32_t s = 0; s < p.k_w; s++) {
        const int32_t column = ix + s * p.dil_w;
        if (column < 0 || column >= p.in_w)
          sink.zero(gi);
        else
          sink.run(x + iy * row + column * p.in_c, gi);
      }
    }
  }
}

// Walks over the output pixels of all images and fills lanes.
struct PixelWalk {
  const int8_t* image;
  int32_t oy = 0, ox = 0;
  void fill(const ConvParams& p, int32_t channel, uint32_t* lane, int8_t* bytes) {
    const int32_t taps = conv_taps(p), padded = conv_dsp_taps(p);
    const int32_t iy = oy * p.stride_h - p.pad_t, ix = ox * p.stride_w - p.pad_l;
    const bool inside = ix >= 0 && ix + p.k_w <= p.in_w && iy >= 0 && iy + p.k_h <= p.in_h;
    const bool rows = inside && p.groups == 1 && p.dil_w == 1 && p.dil_h == 1 && p.k_w * p.in_c % 4 == 0;
    TapSink sink = {lane, bytes, rows || conv_group_in(p) % 4 == 0, p.in_zero};
    gather_taps(p, image + channel, iy, ix, sink);
    if (!sink.words) {
      for (int32_t k = taps; k < padded; k++) *sink.bytes++ = 0;
      widen(lane, bytes, padded);
    }
    if (++ox == p.out_w) {
      ox = 0;
      if (++oy == p.out_h) oy = 0, image += p.in_h * p.in_w * p.in_c;
    }
  }
};

// One tile: up to three pixels, all channels of one group. Lanes without a pixel are computed too and written first, over pixel 0's
// place (its distance d is 0), so that the right bytes come last.
template <class Rescale>
inline void conv_tile(const ConvParams& p, const DotPlan<Rescale::kCombined>& plan, const uint32_t* weights, const uint8_t* tables,
                      const uint32_t* x, int8_t* y, int32_t d1, int32_t d2) {
  const typename Rescale::Entry* entry = reinterpret_cast<const typename Rescale::Entry*>(tables);
  const Rescale rescale(p);
  for (int32_t left = conv_group_out(p); left > 0; left -= 2, entry++, y += 2) {
    Sums s;
    rescale.start(*entry, s);
    dot_2x3<Rescale::kCombined>(plan, weights, x, s);
    rescale.finish(*entry, s, y, d1, d2, left > 1);
  }
}

template <class Rescale>
inline void conv_gemm(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  uint32_t* lanes = static_cast<uint32_t*>(a->scratch);
  const int32_t steps = conv_dsp_taps(p) / 2, go = conv_group_out(p), pixels = p.n * p.out_h * p.out_w;
  int8_t* bytes = reinterpret_cast<int8_t*>(lanes + steps * kLanes);
  const DotPlan<Rescale::kCombined> plan(steps);
  for (int32_t g = 0; g < p.groups; g++) {
    const uint32_t* weights = at<uint32_t>(a, p.weights) + g * conv_dsp_pairs(p) * steps;
    const uint8_t* tables = at<uint8_t>(a, p.tables) + uint32_t(g * conv_dsp_pairs(p)) * sizeof(typename Rescale::Entry);
    PixelWalk walk = {static_cast<const int8_t*>(a->operand[0])};
    int8_t* y = static_cast<int8_t*>(a->operand[1]) + g * go;
    for (int32_t left = pixels; left > 0; left -= kLanes, y += kLanes * p.out_c) {
      const int32_t n = left < kLanes ? left : kLanes;
      for (int32_t i = 0; i < n; i++) walk.fill(p, g * conv_group_in(p), lanes + i, bytes);
      conv_tile<Rescale>(p, plan, weights, tables, lanes, y, n > 1 ? p.out_c : 0, n > 2 ? 2 * p.out_c : 0);
      if constexpr (Rescale::kClamps)
        if (p.lo != -128 || p.hi != 127)
          for (int32_t i = 0; i < n; i++) clamp_bytes(y + i * p.out_c, go, p.lo, p.hi);
    }
  }
}

}  // namespace corten
