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
  int32_t o_step;  // from a pixel's outputs to the next one's
  int8_t* room;    // of the row whose weights are dense: a quad's weights with their zeros
};

inline constexpr int32_t kQuadTable = 9;  // words: bias[4], mult[4], then the shifts, four bytes

// `count` pixels, `step` bytes apart, each a run of taps; their outputs are o_step apart, from `out` on. Three functions, for up to
// 16 taps, up to 64, and more; each is linked only where a row needs it. Up to 64 taps, no byte is read beyond a pixel's taps, and
// above 16 a pixel is read as a whole before its outputs are written; the last reads whole vectors, and each pixel once for every
// four output channels.
using PixelsFn = void(const MveLayer& layer, const int8_t* x, int32_t step, int32_t count, int8_t* out);
PixelsFn mve_pixels_16, mve_pixels_64, mve_pixels;

}  // namespace corten
