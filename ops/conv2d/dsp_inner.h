// The inner loops of the DSP convolutions: two output channels times three pixels.
#pragma once
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
  int32_t rounds;      // (steps + 7) / 8
  int8_t* end;         // of pixel 0's channels; an odd last channel has a partner of zeros that is not stored
};

extern "C" void conv2d_dsp_pair_tile(const PairTile* tile);  // pair_tile_dsp.cc

// The same sums for rows that requantise in their own way: separate taps of one pair of channels, which move on.
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
