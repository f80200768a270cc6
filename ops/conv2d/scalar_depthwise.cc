// Depthwise conv2d, cores without DSP: channel by channel, the rows of a window widened to words in scratch, padding included, so
// that no border is special. Rows run along the longer side of the image. Long ones are done in tiles of kDepthwiseTile outputs.
#include "ops/conv2d/pack_scalar.h"
#include "ops/conv2d/scalar_depthwise_inner.h"
#include "runtime/kernel.h"
#include "runtime/scalar_scale.h"

namespace corten {
namespace {

// A tile of output columns of the layer, height and width exchanged if that is better. Steps are bytes between neighbours.
struct Tile {
  uint32_t in_h, in_w, out_h, out_w, k_h, k_w, stride_h, stride_w, pad_t, pad_l;
  uint32_t in_row, in_column, out_row, out_column;
  int32_t in_zero;
  ScalarRange range;
  const void* scale;                           // the channel's
  int32_t* weights;                            // the channel's, as words
  int32_t *ring, *ring_end;                    // k_h rows
  uint32_t row_words;                          // from one to the next
  uint32_t columns;                            // how many outputs in a row of this tile,
  uint32_t left, inside, in_begin, out_begin;  // words of a row left of the image and in it; where those begin in input and output
};

constexpr uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

void fill_words(int32_t* to, uint32_t n, int32_t value) {
  for (; n > 0; n--) *to++ = value;
}

// From two sums to outputs, with either table.
struct ShortOutputs {
  using Scale = ShortScale;
  static void convert(int32_t& a, int32_t& b, const ShortScale* scale, const ScalarRange&) { short_scaled_twice(a, b, scale); }
};
struct NarrowOutputs {
  using Scale = DspScale;
  static void convert(int32_t& a, int32_t& b, const DspScale* scale, const ScalarRange& range) {
    const DspScale s = *scale;
    a = scalar_requantise(a, s, range.twice_zero), b = scalar_requantise(b, s, range.twice_zero);
  }
};

// The helpers with the loops are functions of their own: inlined, they would share the few registers with everything around them.
[[gnu::noinline]] void widen(int32_t* to, const int8_t* x, uint32_t n, uint32_t step) {
  for (; n > 1; n -= 2, to += 2) {
    to[0] = *x, x += step;
    to[1] = *x, x += step;
  }
  if (n > 0) *to = *x;
}

// A row of outputs, from the rows of the first window. Copies, as a store through y might change whatever a reference leads to.
template <class Outputs, int32_t kStride>
[[gnu::noinline]] void outputs_3x3(const Tile& t, ThreeRows rows, int8_t* y) {
  const int32_t* const w = t.weights;
  const uint32_t step = t.out_column;
  const auto* const scale = static_cast<const typename Outputs::Scale*>(t.scale);
  const ScalarRange range = t.range;
  int32_t n = int32_t(t.columns);
  for (; n > 0; n -= 2) {
    TwoOutputs sum = dot_3x3_twice<kStride>(rows, w);
    rows.a += 2 * kStride, rows.b += 2 * kStride, rows.c += 2 * kStride;
    Outputs::convert(sum.left, sum.right, scale, range);
    *y = scalar_clamp(sum.left, range), y += step;
    if (n == 1) break;
    *y = scalar_clamp(sum.right, range), y += step;
  }
}

// The same for any kernel; `oldest` is the window's first row.
template <class Outputs>
[[gnu::noinline]] void outputs_any(const Tile& t, const int32_t* oldest, int8_t* y) {
  for (uint32_t i = 0; i < t.columns; i++, y += t.out_column) {
    int32_t acc = 0;
    const int32_t *w = t.weights, *row = oldest;
    for (uint32_t r = 0; r < t.k_h; r++) {
      const int32_t* x = row + i * t.stride_w;
      for (const int32_t* const end = w + t.k_w; w < end; w++) acc += *x++ * *w;
      row += t.row_words;
      if (row == t.ring_end) row = t.ring;
    }
    int32_t none = 0;
    Outputs::convert(acc, none, static_cast<const typename Outputs::Scale*>(t.scale), t.range);
    *y = scalar_clamp(acc, t.range);
  }
}

template <class Outputs>
void outputs(const Tile& t, const int32_t* oldest, int8_t* y) {
  if (t.k_h != 3 || t.k_w != 3 || t.stride_w > 2) return outputs_any<Outputs>(t, oldest, y);
  ThreeRows rows = {oldest, oldest + t.row_words, oldest + 2 * t.row_words};
  if (rows.b == t.ring_end) rows.b = t.ring, rows.c = t.ring + t.row_words;
  if (rows.c == t.ring_end) rows.c = t.ring;
  t.stride_w == 1 ? outputs_3x3<Outputs, 1>(t, rows, y) : outputs_3x3<Outputs, 2>(t, rows, y);
}

// One channel from top to bottom. Row numbers count from the top of the padding.
template <class Outputs>
[[gnu::noinline]] void channel(const Tile& t, const int8_t* x, int8_t* y) {
  uint32_t next = 0;       // next row to widen,
  int32_t* slot = t.ring;  // and where; once k_h rows are there, that is where the oldest lies
  x += t.in_begin, y += t.out_begin;
  for (uint32_t oy = 0, first = 0; oy < t.out_h; oy++, first += t.stride_h, y += t.out_row) {
    for (next = next < first ? first : next; next < first + t.k_h; next++) {
      const uint32_t iy = next - t.pad_t;  // huge if above the image
      if (iy < t.in_h)
        widen(slot + t.left, x + iy * t.in_row, t.inside, t.in_column);
      else
        fill_words(slot + t.left, t.inside, t.in_zero);
      slot += t.row_words;
      if (slot == t.ring_end) slot = t.ring;
    }
    outputs<Outputs>(t, slot, y);
  }
}

// What all tiles share. Scratch: the weights, then the ring. Not inlined, so that the copy of the params leaves the stack.
[[gnu::noinline]] void begin(Tile& t, const ConvParams& p, int32_t* scratch) {
  const ConvParams q = conv_lying(p);
  const uint32_t in_line = uint32_t(p.in_c) * p.in_w, out_line = uint32_t(p.out_c) * p.out_w;
  const bool upright = conv_upright(p);
  t.in_h = q.in_h, t.in_w = q.in_w, t.out_h = q.out_h, t.out_w = q.out_w, t.k_h = q.k_h, t.k_w = q.k_w;
  t.stride_h = q.stride_h, t.stride_w = q.stride_w, t.pad_t = q.pad_t, t.pad_l = q.pad_l;
  t.in_row = upright ? p.in_c : in_line, t.in_column = upright ? in_line : p.in_c;
  t.out_row = upright ? p.out_c : out_line, t.out_column = upright ? out_line : p.out_c;
  t.in_zero = p.in_zero, t.range = {2 * p.out_zero + 1, p.lo, p.hi};
  t.weights = scratch, t.row_words = conv_depthwise_row(q);
  t.ring = scratch + t.k_h * t.k_w, t.ring_end = t.ring + t.k_h * t.row_words;
}

// Moves to the output columns from ox on, and fills the ring with the zero point: what lies left and right of the image stays.
[[gnu::noinline]] void move(Tile& t, uint32_t ox) {
  t.columns = least(kDepthwiseTile, t.out_w - ox);
  const uint32_t first = ox * t.stride_w, words = (t.columns - 1) * t.stride_w + t.k_w;
  t.left = first < t.pad_l ? least(t.pad_l - first, words) : 0;
  const uint32_t ix = first + t.left - t.pad_l;
  t.inside = ix < t.in_w ? least(t.in_w - ix, words - t.left) : 0;
  t.in_begin = ix * t.in_column, t.out_begin = ox * t.out_column;
  fill_words(t.ring, uint32_t(t.ring_end - t.ring), t.in_zero);
}

// A channel's weights (k_h, k_w), as words in the order of the tile's rows.
[[gnu::noinline]] const int8_t* widen_weights(const Tile& t, const int8_t* w, bool upright) {
  int32_t* to = t.weights;
  for (uint32_t r = 0; r < t.k_h; r++)
    for (uint32_t s = 0; s < t.k_w; s++) *to++ = w[upright ? s * t.k_h + r : r * t.k_w + s];
  return w + t.k_h * t.k_w;
}

template <class Outputs>
void depthwise(const KernelArgs* args) {
  const ConvParams& p = *static_cast<const ConvParams*>(args->params);
  const bool upright = conv_upright(p);
  const uint32_t multiplier = uint32_t(conv_group_out(p)), out_c = p.out_c;
  const auto* const table = at<typename Outputs::Scale>(args, p.tables);
  const int8_t* x = static_cast<const int8_t*>(args->operand[0]);
  int8_t* y = static_cast<int8_t*>(args->operand[1]);
  Tile t;
  begin(t, p, static_cast<int32_t*>(args->scratch));
  for (uint32_t n = 0; n < p.n; n++) {
    for (uint32_t ox = 0; ox < t.out_w; ox += kDepthwiseTile) {
      move(t, ox);
      const int8_t* weights = at<int8_t>(args, p.weights);
      for (uint32_t o = 0, group = 0, of_group = 0; o < out_c; o++) {
        weights = widen_weights(t, weights, upright);
        t.scale = table + o;
        channel<Outputs>(t, x + group, y + o);
        if (++of_group == multiplier) of_group = 0, group++;
      }
    }
    x += uint32_t(p.in_h) * p.in_w * p.in_c, y += uint32_t(p.out_h) * p.out_w * p.out_c;
  }
  scalar_finish(static_cast<int8_t*>(args->operand[1]), uint32_t(p.n) * p.out_h * p.out_w * p.out_c, t.range);
}

bool depthwise_check(const CheckArgs* a, uint32_t tables_bytes(const ConvParams&)) {
  return conv_check(a, conv_plain_weights, tables_bytes, 0) && conv_params(a).groups == conv_params(a).in_c &&
         conv_taps4(conv_params(a)) <= kScalarTaps && conv_params(a).dil_h == 1 && conv_params(a).dil_w == 1 &&
         a->scratch_bytes >= conv_depthwise_scratch(conv_params(a));
}

}  // namespace

extern "C" void conv2d_s8_scalar_depthwise_short(const KernelArgs* a) { depthwise<ShortOutputs>(a); }
extern "C" bool conv2d_s8_scalar_depthwise_short_check(const CheckArgs* a) { return depthwise_check(a, conv_short_tables); }

extern "C" void conv2d_s8_scalar_depthwise(const KernelArgs* a) { depthwise<NarrowOutputs>(a); }
extern "C" bool conv2d_s8_scalar_depthwise_check(const CheckArgs* a) { return depthwise_check(a, conv_scalar_tables); }

}  // namespace corten
