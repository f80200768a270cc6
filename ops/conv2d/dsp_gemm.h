// What the DSP convolutions have in common: three output pixels' inputs, widened to int16 and interleaved in scratch, so that each
// pair of output channels runs over them once.
#pragma once
#include "ops/conv2d/dsp_inner.h"
#include "ops/conv2d/pack_dsp.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

inline constexpr int32_t kLanes = 3;  // pixels at a time

// Four inputs of a lane: words 0 and 2 of the bytes, then 1 and 3.
inline void store_lane(uint32_t* lane, uint32_t v) { lane[0] = sxtb16(v), lane[kLanes] = sxtb16_ror8(v); }

// f(i) for every lane, written out: the lanes' state stays in registers.
template <int N, class F>
inline __attribute__((always_inline)) void each_lane(const F& f) {
  static_assert(N == 1 || N == kLanes);
  f(0);
  if constexpr (N == kLanes) f(1), f(2);
}
// The lanes' next four bytes each, `distance` bytes apart.
template <int N>
inline void store_lanes(uint32_t* lane, const int8_t* x, int32_t distance) {
  uint32_t v[N];
  each_lane<N>([&](int32_t i) { v[i] = load4(x + i * distance); });
  each_lane<N>([&](int32_t i) { store_lane(lane + i, v[i]); });
}
// The last bytes of a single run: out of its last word, or one by one where there is none.
inline uint32_t run_end(const int8_t* x, int32_t run) {
  const int32_t rest = run & 3;
  if (run > 4) return load4(x + run - 4) >> (32 - 8 * rest);
  uint32_t v = 0;
  for (int32_t k = rest - 1; k >= 0; k--) v = v << 8 | uint8_t(x[k]);
  return v;
}

// The inputs of a window: `rows` runs of `run` bytes, `down` bytes apart. In the order of conv_dsp_tap: every row's whole words,
// then column by column what is left.
struct WindowRows {
  int32_t rows, run, down;
};
template <int N>
inline __attribute__((always_inline)) void widen_ends(uint32_t* lane, const int8_t* x, int32_t distance, const WindowRows& w) {
  constexpr uint32_t kEmpty = 1u << 31;  // the bit goes down ahead of the bytes
  uint32_t held[N];
  each_lane<N>([&](int32_t i) { held[i] = kEmpty; });
  for (int32_t rest = w.run & 3; rest > 0; rest--) {
    const int8_t* at = x + w.run - rest;
    for (int32_t r = w.rows; r > 0; r--, at += w.down) {
      const bool last = held[0] & 128;
      each_lane<N>([&](int32_t i) { held[i] = held[i] >> 8 | uint32_t(uint8_t(at[i * distance])) << 24; });
      if (!last) continue;
      each_lane<N>([&](int32_t i) { store_lane(lane + i, held[i]), held[i] = kEmpty; });
      lane += 2 * kLanes;
    }
  }
  if (held[0] == kEmpty) return;
  while (!(held[0] & 128)) each_lane<N>([&](int32_t i) { held[i] >>= 8; });
  each_lane<N>([&](int32_t i) { store_lane(lane + i, held[i] >> 8); });
}
// N lanes side by side.
template <int N>
__attribute__((noinline)) void widen_rows(uint32_t* lane, const int8_t* x, int32_t distance, WindowRows w) {
  const int8_t* row = x;
  const int32_t words = w.run / 4, skip = w.down - 4 * words;
  for (int32_t r = w.rows; r > 0; r--, row += skip)
    for (int32_t k = words; k > 0; k--, row += 4, lane += 2 * kLanes) store_lanes<N>(lane, row, distance);
  if (w.run % 4) widen_ends<N>(lane, x, distance, w);
}
// The same of windows of one pixel.
template <int N>
inline void widen_pixels(uint32_t* lane, const int8_t* x, int32_t n) {
  const int8_t* at = x;
  for (int32_t k = n / 4; k > 0; k--, at += 4, lane += 2 * kLanes) store_lanes<N>(lane, at, n);
  if (n % 4)
    for (int32_t i = 0; i < N; i++, x += n) store_lane(lane + i, run_end(x, n));
}

// Walks over the output pixels of one group, image after image, and widens their inputs. `patch` takes one window's bytes.
class PixelWalk {
 public:
  PixelWalk(const ConvParams& params, const int8_t* images, int32_t group, uint32_t* patch_words)
      : p(params),
        gi(conv_group_in(params)),
        row(params.in_w * params.in_c),
        image(images + group * gi),
        patch(patch_words),
        iy(-params.pad_t),
        ix(-params.pad_l) {
    dense = p.groups == 1 && p.dil_w == 1;
    inside = {p.k_h, p.k_w * gi, p.dil_h * row};
    last_y = p.in_h - 1 - (p.k_h - 1) * p.dil_h;
    last_x = dense ? p.in_w - p.k_w : -1;
  }
  // The next n <= 3 pixels.
  void widen(uint32_t* lanes, int32_t n) {
    const int32_t far = ix + (kLanes - 1) * p.stride_w;
    if (n == kLanes && ox + kLanes <= p.out_w && iy >= 0 && iy <= last_y && ix >= 0 && far <= last_x) {
      widen_rows<kLanes>(lanes, image + iy * row + ix * gi, p.stride_w * gi, inside);
      next(kLanes);
    } else {
      for (int32_t i = 0; i < n; i++) widen_one(lanes + i);
    }
  }

 private:
  void next(int32_t n) {
    ox += n, ix += n * p.stride_w;
    if (ox < p.out_w) return;
    ox = 0, ix = -p.pad_l, iy += p.stride_h;
    if (++oy == p.out_h) oy = 0, iy = -p.pad_t, image += p.in_h * row;
  }
  __attribute__((noinline)) void widen_one(uint32_t* lane) {
    if (iy >= 0 && iy <= last_y && ix >= 0 && ix <= last_x) {
      widen_rows<1>(lane, image + iy * row + ix * gi, 0, inside);
    } else {
      gather();
      widen_rows<1>(lane, reinterpret_cast<const int8_t*>(patch), 0, {p.k_h, inside.run, inside.run});
    }
    next(1);
  }
  // Copies a window that sticks out of the image, or whose taps do not lie side by side.
  void gather() const {
    const uint32_t zero = uint8_t(p.in_zero) * 0x01010101u;
    for (int32_t k = conv_dsp_taps(p) / 4 - 1; k >= 0; k--) patch[k] = zero;
    const int32_t span = dense ? p.k_w : 1;
    int8_t* to = reinterpret_cast<int8_t*>(patch);
    for (int32_t s = 0, column = ix; s < p.k_w; s += span, column += p.dil_w, to += span * gi) {
      const int32_t left = clamp(-column, 0, span), right = clamp(p.in_w - column, left, span);
      const int8_t* x = image + (column + left) * p.in_c;
      int8_t* at = to + left * gi;
      for (int32_t r = 0, y = iy; r < p.k_h; r++, y += p.dil_h, at += inside.run)
        if (y >= 0 && y < p.in_h) copy(at, x + y * row, (right - left) * gi);
    }
  }
  static void copy(int8_t* to, const int8_t* from, int32_t n) {
    for (; n >= 4; n -= 4, to += 4, from += 4) store4(to, load4(from));
    for (; n > 0; n--) *to++ = *from++;
  }

  const ConvParams& p;
  WindowRows inside;
  int32_t gi, row;
  const int8_t* image;  // at the group's first channel
  uint32_t* patch;
  int32_t iy, ix, last_y, last_x, oy = 0, ox = 0;  // last: of a window's first tap whose window is inside and dense
  bool dense;                                      // a window's rows are runs of bytes
};

// Runs a convolution tile by tile: tile.begin(group), then tile(n, y) for every n <= 3 of its pixels after their inputs are in
// scratch; y is pixel 0's output. Two functions, as the pixels of a 1x1 convolution follow one another, output as input.
template <class Tile>
__attribute__((noinline)) void run_tiles_1x1(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  uint32_t* const lanes = static_cast<uint32_t*>(a->scratch);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  const int32_t out_c = p.out_c, in_c = p.in_c;
  Tile tile(p, a);
  tile.begin(0);
  int32_t left = p.n * p.out_h * p.out_w;
  for (; left >= kLanes; left -= kLanes, x += kLanes * in_c, y += kLanes * out_c) {
    widen_pixels<kLanes>(lanes, x, in_c);
    tile(kLanes, y);
  }
  if (left == 0) return;
  for (int32_t i = 0; i < left; i++) widen_rows<1>(lanes + i, x + i * in_c, 0, {1, in_c, 0});
  tile(left, y);
}
template <class Tile>
__attribute__((noinline)) void run_tiles_any(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  uint32_t* const lanes = static_cast<uint32_t*>(a->scratch);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  Tile tile(p, a);
  for (int32_t g = 0; g < p.groups; g++) {
    PixelWalk walk(p, x, g, lanes + kLanes * conv_dsp_taps(p) / 2);
    int8_t* y = static_cast<int8_t*>(a->operand[1]) + g * conv_group_out(p);
    tile.begin(g);
    for (int32_t left = p.n * p.out_h * p.out_w; left > 0; left -= kLanes, y += kLanes * p.out_c) {
      const int32_t n = left < kLanes ? left : kLanes;
      walk.widen(lanes, n);
      tile(n, y);
    }
  }
}
template <class Tile>
inline void run_tiles(const KernelArgs* a) {
  conv_is_pointwise(*static_cast<const ConvParams*>(a->params)) ? run_tiles_1x1<Tile>(a) : run_tiles_any<Tile>(a);
}

}  // namespace corten
