// What the DSP convolutions have in common: three output pixels' inputs, widened to int16 and interleaved in scratch, so that each
// pair of output channels runs over them once.
#pragma once
#include "ops/conv2d/dsp_inner.h"
#include "ops/conv2d/pack_dsp.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

inline constexpr int32_t kLanes = 3;  // pixels at a time

// Widens streams of bytes into N lanes side by side, four bytes at a time. Runs need not be whole words: what is left waits in
// `held`. Everything is inlined, so that the state stays in registers.
template <int N>
struct LaneWriter {
  uint32_t* lane;
  uint32_t held[N];  // `bits` of each: 0, 8, 16 or 24
  int32_t bits;
  explicit LaneWriter(uint32_t* first) : lane(first), held{}, bits(0) {}

  template <class F>
  static inline __attribute__((always_inline)) void each(const F& f) {
    f(0);
    if constexpr (N == 3) f(1), f(2);
  }
  // f(i) is lane i's next word.
  template <class F>
  inline __attribute__((always_inline)) void emit(const F& f) {
    each([&](int32_t i) {
      const uint32_t v = f(i);
      lane[i] = sxtb16(v), lane[i + kLanes] = sxtb16_ror8(v);
    });
    lane += 2 * kLanes;
  }
  // f(i) is lane i's next n bits, the rest of the word being 0. n: 8, 16, 24 or 32.
  template <class F>
  inline __attribute__((always_inline)) void push(int32_t n, const F& f) {
    if (bits + n < 32) {
      each([&](int32_t i) { held[i] |= f(i) << bits; });
      bits += n;
      return;
    }
    const int32_t taken = 32 - bits;  // n or fewer
    emit([&](int32_t i) {
      const uint32_t v = f(i), word = held[i] | v << bits;
      held[i] = taken < n ? v >> taken : 0;
      return word;
    });
    bits = n - taken;
  }
  // n bytes of each lane, `distance` bytes from a lane's to the next one's.
  inline __attribute__((always_inline)) void run(const int8_t* x, int32_t distance, int32_t n) {
    const int8_t* at = x;
    if (bits == 0) {
      for (int32_t left = n; left >= 4; left -= 4, at += 4) emit([&](int32_t i) { return load4(at + i * distance); });
    } else {
      for (int32_t left = n; left >= 4; left -= 4, at += 4)
        emit([&](int32_t i) {
          const uint32_t v = load4(at + i * distance), word = held[i] | v << bits;
          held[i] = v >> (32 - bits);
          return word;
        });
    }
    const int32_t rest = n & 3;
    if (!rest) return;
    if (n > 4) {  // the run's last word, less what has been taken
      push(8 * rest, [&](int32_t i) { return load4(x + i * distance + n - 4) >> (32 - 8 * rest); });
    } else {
      push(8 * rest, [&](int32_t i) {
        const int8_t* from = x + i * distance;
        uint32_t v = uint8_t(from[0]);
        if (rest > 1) v |= uint32_t(uint8_t(from[1])) << 8;
        if (rest > 2) v |= uint32_t(uint8_t(from[2])) << 16;
        return v;
      });
    }
  }
  inline __attribute__((always_inline)) void finish() {
    if (bits) emit([&](int32_t i) { return held[i]; });
  }
};

// Walks over the output pixels of one group, image after image, and widens their inputs.
class PixelWalk {
 public:
  PixelWalk(const ConvParams& params, const int8_t* images, int32_t group)
      : p(params),
        gi(conv_group_in(params)),
        row(params.in_w * params.in_c),
        image(images + group * gi),
        iy(-params.pad_t),
        ix(-params.pad_l) {
    flat = conv_is_pointwise(p);
    last_y = p.in_h - 1 - (p.k_h - 1) * p.dil_h;
    last_x = p.groups == 1 && p.dil_w == 1 ? p.in_w - p.k_w : -1;
  }
  // The next n <= 3 pixels.
  void widen(uint32_t* lanes, int32_t n) {
    if (flat) {
      if (n == kLanes) {
        widen_inside<kLanes>(lanes, image, gi);
      } else {
        for (int32_t i = 0; i < n; i++) widen_inside<1>(lanes + i, image + i * gi, 0);
      }
      image += n * gi;
      return;
    }
    const int32_t far = ix + (kLanes - 1) * p.stride_w;
    if (n == kLanes && ox + kLanes <= p.out_w && iy >= 0 && iy <= last_y && ix >= 0 && far <= last_x) {
      widen_inside<kLanes>(lanes, image + iy * row + ix * gi, p.stride_w * gi);
      next(kLanes);
      return;
    }
    for (int32_t i = 0; i < n; i++) {
      if (iy >= 0 && iy <= last_y && ix >= 0 && ix <= last_x)
        widen_inside<1>(lanes + i, image + iy * row + ix * gi, 0);
      else
        widen_edge(lanes + i);
      next(1);
    }
  }

 private:
  void next(int32_t n) {
    ox += n, ix += n * p.stride_w;
    if (ox < p.out_w) return;
    ox = 0, ix = -p.pad_l, iy += p.stride_h;
    if (++oy == p.out_h) oy = 0, iy = -p.pad_t, image += p.in_h * row;
  }
  template <int N>
  __attribute__((noinline)) void widen_inside(uint32_t* lane, const int8_t* x, int32_t distance) const {
    LaneWriter<N> writer(lane);
    const int32_t n = p.k_w * gi, down = p.dil_h * row;
    for (int32_t r = p.k_h; r > 0; r--, x += down) writer.run(x, distance, n);
    writer.finish();
  }
  // One lane, byte by byte unless every run is whole words. A step of 0 repeats the bytes at x.
  struct EdgeWriter {
    uint32_t* lane;
    uint32_t held;
    int32_t bits;
    void emit(uint32_t v) {
      lane[0] = sxtb16(v), lane[kLanes] = sxtb16_ror8(v);
      lane += 2 * kLanes;
    }
    __attribute__((noinline)) void run(const int8_t* x, int32_t step, int32_t n, bool words) {
      EdgeWriter w = *this;
      if (words) {
        for (; n > 0; n -= 4, x += 4 * step) w.emit(load4(x));
      } else {
        for (; n > 0; n--, x += step) {
          w.held |= uint32_t(uint8_t(*x)) << w.bits, w.bits += 8;
          if (w.bits == 32) w.emit(w.held), w.held = 0, w.bits = 0;
        }
      }
      *this = w;
    }
  };
  // A window that sticks out of the image, or whose taps do not lie side by side.
  __attribute__((noinline)) void widen_edge(uint32_t* lane) const {
    const uint32_t zero = uint8_t(p.in_zero) * 0x01010101u;
    const int8_t* padding = reinterpret_cast<const int8_t*>(&zero);
    const bool words = gi % 4 == 0;
    const int32_t span = p.groups == 1 && p.dil_w == 1 ? p.k_w : 1;
    EdgeWriter writer = {lane, 0, 0};
    for (int32_t r = p.k_h, y = iy; r > 0; r--, y += p.dil_h) {
      const bool inside = y >= 0 && y < p.in_h;
      for (int32_t s = p.k_w, column = ix; s > 0; s -= span, column += p.dil_w) {
        const int32_t left = inside ? clamp(-column, 0, span) : span, right = clamp(p.in_w - column, left, span);
        if (left > 0) writer.run(padding, 0, left * gi, words);
        if (right > left) writer.run(image + y * row + (column + left) * p.in_c, 1, (right - left) * gi, words);
        if (right < span) writer.run(padding, 0, (span - right) * gi, words);
      }
    }
    if (writer.bits) writer.emit(writer.held);
  }

  const ConvParams& p;
  int32_t gi, row;
  const int8_t* image;                             // at the group's first channel; at the next pixel if flat
  int32_t iy, ix, last_y, last_x, oy = 0, ox = 0;  // last: of a window's first tap whose window is inside and dense
  bool flat;                                       // pixels follow one another, output as input
};

// Calls tile(group, n, y) for every n <= 3 pixels of every group, after their inputs are in scratch; y is pixel 0's output.
template <class Tile>
inline void for_each_tile(const ConvParams& p, const KernelArgs* a, const Tile& tile) {
  uint32_t* lanes = static_cast<uint32_t*>(a->scratch);
  const int32_t pixels = p.n * p.out_h * p.out_w, out_c = p.out_c;
  for (int32_t g = 0; g < p.groups; g++) {
    PixelWalk walk(p, static_cast<const int8_t*>(a->operand[0]), g);
    int8_t* y = static_cast<int8_t*>(a->operand[1]) + g * conv_group_out(p);
    for (int32_t left = pixels; left > 0; left -= kLanes, y += kLanes * out_c) {
      const int32_t n = left < kLanes ? left : kLanes;
      walk.widen(lanes, n);
      tile(g, n, y);
    }
  }
}

}  // namespace corten
