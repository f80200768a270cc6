// How near to its input a row's output may lie. Facts about the order in which each row reads and writes; test.cc runs every row
// that close.
#pragma once
#include "ops/conv2d/packings.h"

namespace corten {

// The input may start at out + distance or later; exact: just there. none: they may not overlap.
struct ConvOverlap {
  int32_t distance;
  bool exact, none;
};
inline constexpr ConvOverlap conv_apart = {0, false, true};

// The output takes the input's place: what a row reads after it writes there is in scratch or in registers by then.
constexpr ConvOverlap conv_in_place(bool may) { return may ? ConvOverlap{0, true, false} : conv_apart; }

// The lowest input byte that output pixels from `pixel` on (all images, rows, columns) need.
constexpr int64_t conv_needs_from(const ConvParams& p, int64_t pixel) {
  const int64_t ox = pixel % p.out_w, line = pixel / p.out_w, oy = line % p.out_h, n = line / p.out_h;
  const auto start = [](int64_t at, int64_t pad, int64_t end) { return at < pad ? 0 : at - pad < end ? at - pad : end; };
  const int64_t row = int64_t(p.in_w) * p.in_c, image = n * p.in_h * row;
  const int64_t here = image + start(oy * p.stride_h, p.pad_t, p.in_h) * row + start(ox * p.stride_w, p.pad_l, p.in_w) * p.in_c;
  const int64_t below = oy + 1 < p.out_h ? image + start((oy + 1) * p.stride_h, p.pad_t, p.in_h) * row : here;
  return here < below ? here : below;
}

// A row that makes `tile` output pixels at a time, in order. staged: all that a tile reads is in scratch or in registers before its
// outputs are written; otherwise it may be read until they are, and the last tile may reach back over the one before.
constexpr ConvOverlap conv_by_tiles(const ConvParams& p, int64_t tile, bool staged) {
  const int64_t pixels = int64_t(p.n) * p.out_h * p.out_w, in_bytes = int64_t(p.n) * p.in_h * p.in_w * p.in_c;
  int64_t distance = -in_bytes;
  for (int64_t a = 0; a < pixels; a += tile) {
    const int64_t b = a + tile < pixels ? a + tile : pixels;
    if (staged && b == pixels) break;
    const int64_t written = b * p.out_c, needed = conv_needs_from(p, staged ? b : a < tile ? 0 : a - tile);
    if (written - needed > distance) distance = written - needed;
  }
  if (distance > 0x3fffffff) return conv_apart;
  return {int32_t(distance), false, false};
}

// ---- the rows ----------------------------------------------------------------------------------------------------------------

// 1x1: up to 16 channels, four outputs of a row at a time; up to 64, a pixel is held in registers; above, two pixels at a time.
constexpr ConvOverlap conv_mve_point_overlap(const ConvParams& p) {
  if (p.in_c <= 16) return conv_by_tiles(p, p.out_w, false);
  return p.in_c <= 64 ? conv_by_tiles(p, 1, true) : conv_by_tiles(p, 2, false);
}
constexpr ConvOverlap conv_mve_overlap(const ConvParams& p) {
  const ConvParams q = conv_turned(p);
  return conv_by_tiles(q, q.out_w, true);
}
constexpr bool conv_shrinks(const ConvParams& p) { return p.out_h <= p.in_h && p.out_w <= p.in_w && p.out_c == p.in_c; }
// Two input rows beyond the padding are widened before the first output row, two more before each next.
constexpr ConvOverlap conv_dsp_depthwise3x3_overlap(const ConvParams& p) { return conv_in_place(conv_shrinks(p) && p.pad_t <= 2); }
// A whole line is widened before it is written.
constexpr ConvOverlap conv_dsp_lines_overlap(const ConvParams& p) { return conv_in_place(conv_shrinks(p)); }
// Rows (columns, if upright) are widened k_h at a time; more than one tile of columns would read its neighbour's outputs.
constexpr ConvOverlap conv_scalar_depthwise_overlap(const ConvParams& p) {
  const ConvParams q = conv_lying(p);
  const bool same = p.out_h == p.in_h && p.out_w == p.in_w && p.stride_h == 1 && p.stride_w == 1;
  return conv_in_place(conv_shrinks(p) && q.out_w <= kDepthwiseTile && q.pad_t < q.k_h && (same || !conv_upright(p)));
}

}  // namespace corten
