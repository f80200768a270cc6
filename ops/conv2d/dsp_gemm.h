// What the DSP convolutions have in common: three output pixels' inputs, widened to int16 and interleaved in scratch, so that each
// pair of output channels runs over them once.
#pragma once
#include "ops/conv2d/dsp_inner.h"
#include "ops/conv2d/pack_dsp.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

inline constexpr int32_t kLanes = 3;  // pixels at a time

// Widens a stream of bytes into one lane, four at a time. Runs of bytes need not be whole words: what is left waits in `held`.
struct LaneWriter {
  uint32_t* lane;
  uint32_t held;  // `bits` of it: 0, 8, 16 or 24
  int32_t bits;

  void emit(uint32_t v) {
    lane[0] = sxtb16(v), lane[kLanes] = sxtb16_ror8(v);
    lane += 2 * kLanes;
  }
  // The low n bits of v, the others being 0. n: 8, 16, 24 or 32.
  void push(uint32_t v, int32_t n) {
    held |= v << bits, bits += n;
    if (bits < 32) return;
    emit(held);
    bits -= 32, held = bits ? v >> (n - bits) : 0;
  }
  void push_words(const int8_t* x, int32_t n) {
    for (; n >= 16; n -= 16, x += 16) {
      const uint32_t a = load4(x), b = load4(x + 4), c = load4(x + 8), d = load4(x + 12);
      emit(a), emit(b), emit(c), emit(d);
    }
    for (; n >= 4; n -= 4, x += 4) emit(load4(x));
  }
  // Inlined, so that the state stays in registers.
  __attribute__((always_inline)) void run(const int8_t* x, int32_t n) {
    if (bits == 0) {
      push_words(x, n);
    } else {
      const int8_t* at = x;
      for (int32_t i = n; i >= 4; i -= 4, at += 4) {
        const uint32_t v = load4(at);
        emit(held | v << bits), held = v >> (32 - bits);
      }
    }
    const int32_t rest = n & 3;
    if (rest && n > 4)
      push(load4(x + n - 4) >> (32 - 8 * rest), 8 * rest);  // the run's last word, less what has been taken
    else
      for (int32_t i = 0; i < rest; i++) push(uint8_t(x[i]), 8);
  }
  __attribute__((noinline)) void run_outlined(const int8_t* x, int32_t n) {
    LaneWriter w = *this;
    w.run(x, n);
    *this = w;
  }
  __attribute__((noinline)) void repeat(int32_t value, int32_t n) {
    const uint32_t v = uint8_t(value) * 0x01010101u;
    for (; n >= 4; n -= 4) push(v, 32);
    if (n > 0) push(v >> (32 - 8 * n), 8 * n);
  }
  void finish() {
    if (bits) emit(held);
  }
};

// Walks over the output pixels of one group, image after image, and widens the inputs of one at a time.
class PixelWalk {
 public:
  PixelWalk(const ConvParams& params, const int8_t* images, int32_t group)
      : p(params),
        gi(conv_group_in(params)),
        row(params.in_w * params.in_c),
        image(images + group * gi),
        iy(-params.pad_t),
        ix(-params.pad_l) {
    const bool dense = p.groups == 1 && p.dil_w == 1;
    span = dense ? p.k_w : 1;
    last_y = p.in_h - 1 - (p.k_h - 1) * p.dil_h, last_x = dense ? p.in_w - p.k_w : -1;
  }
  void widen_next(uint32_t* lane) {
    if (ix >= 0 && ix <= last_x && iy >= 0 && iy <= last_y) {
      LaneWriter writer = {lane, 0, 0};
      const int8_t* x = image + iy * row + ix * gi;
      const int32_t n = span * gi, down = p.dil_h * row;
      for (int32_t r = p.k_h; r > 0; r--, x += down) writer.run(x, n);
      writer.finish();
    } else {
      widen_edge(lane);
    }
    ix += p.stride_w;
    if (++ox == p.out_w) next_row();
  }

 private:
  // A window that sticks out of the image, or whose taps do not lie side by side.
  __attribute__((noinline)) void widen_edge(uint32_t* lane) const {
    LaneWriter writer = {lane, 0, 0};
    for (int32_t r = 0, y = iy; r < p.k_h; r++, y += p.dil_h) {
      const bool inside = y >= 0 && y < p.in_h;
      const int8_t* x = image + (inside ? y * row : 0);
      for (int32_t s = 0, column = ix; s < p.k_w; s += span, column += p.dil_w) {
        const int32_t left = clamp(-column, 0, span), right = inside ? clamp(p.in_w - column, left, span) : left;
        writer.repeat(p.in_zero, left * gi);
        if (right > left) writer.run_outlined(x + (column + left) * p.in_c, (right - left) * gi);
        writer.repeat(p.in_zero, (span - right) * gi);
      }
    }
    writer.finish();
  }
  __attribute__((noinline)) void next_row() {
    ox = 0, ix = -p.pad_l, iy += p.stride_h;
    if (++oy == p.out_h) oy = 0, iy = -p.pad_t, image += p.in_h * row;
  }

  const ConvParams& p;
  int32_t gi, row;
  const int8_t* image;  // at the group's first channel
  int32_t iy, ix, last_y, last_x, oy = 0, ox = 0;
  int32_t span;  // taps that lie side by side
};

// Calls tile(group, n, y) for every n <= 3 pixels of every group, after their inputs are in `lanes`; y is pixel 0's output.
template <class Tile>
inline void for_each_tile(const ConvParams& p, const KernelArgs* a, const Tile& tile) {
  uint32_t* lanes = static_cast<uint32_t*>(a->scratch);
  const int32_t pixels = p.n * p.out_h * p.out_w, out_c = p.out_c;
  for (int32_t g = 0; g < p.groups; g++) {
    PixelWalk walk(p, static_cast<const int8_t*>(a->operand[0]), g);
    int8_t* y = static_cast<int8_t*>(a->operand[1]) + g * conv_group_out(p);
    for (int32_t left = pixels; left > 0; left -= kLanes, y += kLanes * out_c) {
      const int32_t n = left < kLanes ? left : kLanes;
      for (int32_t i = 0; i < n; i++) walk.widen_next(lanes + i);
      tile(g, n, y);
    }
  }
}

}  // namespace corten
