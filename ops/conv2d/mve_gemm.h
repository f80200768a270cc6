// Pixels times weights on MVE: the inner part of the convolution rows, on the "quads" packing.
#pragma once
#include <stdint.h>

namespace corten {

// One layer's constants. `taps` of each pixel count; they lie in `vectors` vectors of 16.
struct MveLayer {
  const int8_t* weights;
  const int32_t* tables;
  uint32_t taps, vectors;
  int32_t out_c, out_zero;
};

// `count` pixels, `step` bytes apart, each a run of taps; their outputs follow one another in `out`. Up to 4 vectors, no byte is
// read beyond a pixel's taps, and a pixel is read as a whole before its outputs are written (except where vectors == 1);
// above, whole vectors are read, and each pixel once for every four output channels.
void mve_pixels(const MveLayer& layer, const int8_t* x, int32_t step, int32_t count, int8_t* out);

}  // namespace corten
