// The inner loops of the DSP convolutions.
#pragma once
#include "ops/conv2d/pack_dsp.h"
#include "runtime/dsp_scale.h"
#include "runtime/simd.h"

namespace corten {

// All pairs of channels of a group over one tile: three pixels' inputs, widened and interleaved.
struct PairTile {
  const uint32_t*
      stream;          // for each pair: bias a, bias a + 256 * b; the taps, combined; mult a, mult b, shifts (byte 0 a, byte 1 b)
  const uint32_t* x;   // steps times three pairs of inputs
  int8_t* y;           // pixel 0, channel 0
  int32_t d1, d2;      // from pixel 0 to pixels 1 and 2; 0 for a pixel that is not there, which is then written first
  int32_t twice_zero;  // see dsp_scale.h
  int32_t steps;       // words of taps, even
  int32_t rounds;      // (steps + 14) / 16: of all steps but the first
  int8_t* end;         // of pixel 0's channels; an odd last channel has a partner of zeros that is not stored
};

extern "C" void conv2d_dsp_pair_tile(const PairTile* tile);  // pair_tile_dsp.cc

// Up to four bytes, so that the last channels are read without the bytes behind them.
inline uint32_t load_channels(const int8_t* x, int32_t n) {
  if (n == 4) return load4(x);
  uint32_t v = 0;
  for (int32_t i = 0; i < n; i++) v |= uint32_t(uint8_t(x[i])) << (8 * i);
  return v;
}
// Four channels' pairs (first, second) of int16.
inline void store_pairs(uint32_t* to, uint32_t first, uint32_t second) {
  const uint32_t low = pkhbt(first, second), high = pkhtb(first, second);
  to[0] = sxtb16(low), to[1] = sxtb16_ror8(low), to[2] = sxtb16(high), to[3] = sxtb16_ror8(high);
}

// Depthwise 3x3: output rows of up to four channels, from two row pairs of four channels' words per column.
struct RowPairs {
  const Depthwise3x3* weights;
  const uint32_t *p, *q;  // upper and lower row pair, at the first channel's word
  int8_t* y;              // upper row, first channel
  int32_t down;           // from the upper output row to the lower; 0 if there is none, which is then written first
  int32_t stride;         // from an output pixel to the next
  int32_t columns;        // output columns, >= 1
  int32_t twice_zero;     // see dsp_scale.h
  int32_t channels;       // >= 1
};
// row_pairs_dsp.cc: two rows with stride 1, one row with stride 2.
extern "C" void conv2d_dsp_two_rows(const RowPairs* rows);
extern "C" void conv2d_dsp_one_row(const RowPairs* rows);

// Depthwise along one axis: the outputs of one line, of up to four channels, from its pairs of positions.
struct Line {
  const uint32_t* weights;  // see conv_lines_pack
  const uint32_t* pairs;    // at the first channel's word
  int8_t* y;                // the first output of the first channel
  int32_t step;             // from an output to the next
  int32_t out;              // outputs, >= 1
  int32_t words;            // of taps, even, >= 2
  int32_t twice_zero;       // see dsp_scale.h
  int32_t channels;         // >= 1
};
extern "C" void conv2d_dsp_line(const Line* line);  // line_dsp.cc

// The sums of a pair tile for rows that requantise in their own way: separate taps of one pair of channels, which move on.
struct Sums {
  int32_t a0, a1, a2, b0, b1, b2;
};
inline const uint32_t* dot_2x3(int32_t steps, const uint32_t* taps, const uint32_t* x, Sums& sums) {
  Sums s = sums;
  for (const uint32_t* end = taps + steps; taps != end; taps++, x += 3) {
    const uint32_t a = sxtb16(*taps), b = sxtb16_ror8(*taps);
    s.a0 = smlad(a, x[0], s.a0), s.a1 = smlad(a, x[1], s.a1), s.a2 = smlad(a, x[2], s.a2);
    s.b0 = smlad(b, x[0], s.b0), s.b1 = smlad(b, x[1], s.b1), s.b2 = smlad(b, x[2], s.b2);
  }
  sums = s;
  return taps;
}

}  // namespace corten
