// Depthwise conv2d, cores without DSP: channel by channel, the rows of a window widened to words in scratch, padding included, so
// that no border is special. Rows run along the longer side of the image. Long ones are done in tiles of kDepthwiseTile outputs.
#include "ops/conv2d/pack_scalar.h"
#include "ops/conv2d/scalar_depthwise_inner.h"
#include "runtime/kernel.h"
#include "runtime/scalar_scale.h"

namespace corten {
namespace {

// The layer, height and width exchanged if that is better, and how far apart neighbours lie in memory.
struct Layer {
  ConvParams p;
  uint32_t in_row, in_column, out_row, out_column;
  int32_t* weights;  // the channel's, as words
  int32_t* rows;     // ring of k_h rows
  uint32_t row_words;
  ScalarRange range;
};

constexpr uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

int32_t* fill_words(int32_t* to, uint32_t n, int32_t value) {
  for (; n > 0; n--) *to++ = value;
  return to;
}

// The helpers with the loops are functions of their own: inlined, they would share the few registers with everything around them.
[[gnu::noinline]] int32_t* widen(int32_t* to, const int8_t* x, uint32_t n, uint32_t step) {
  for (; n > 1; n -= 2, to += 2) {
    to[0] = *x, x += step;
    to[1] = *x, x += step;
  }
  if (n > 0) *to++ = *x;
  return to;
}

// Input row `iy` (huge if above the image) from padded column `begin` on, n words; what lies outside reads as the zero point.
void widen_row(const Layer& l, const int8_t* x, int32_t* to, uint32_t iy, uint32_t begin, uint32_t n) {
  const ConvParams& p = l.p;
  if (iy >= p.in_h) {
    fill_words(to, n, p.in_zero);
    return;
  }
  const uint32_t left = begin < p.pad_l ? least(p.pad_l - begin, n) : 0;
  const uint32_t ix = begin + left - p.pad_l, inside = ix < p.in_w ? least(p.in_w - ix, n - left) : 0;
  to = fill_words(to, left, p.in_zero);
  to = widen(to, x + iy * l.in_row + ix * l.in_column, inside, l.in_column);
  fill_words(to, n - left - inside, p.in_zero);
}

// n outputs of a row, `step` bytes apart, from the rows of the first window. Everything by value: a store through y may change
// whatever a pointer leads to.
template <int32_t kStride>
[[gnu::noinline]] void outputs_3x3(ThreeRows rows, const int32_t* w, int8_t* y, int32_t n, uint32_t step, DspScale scale,
                                   ScalarRange range) {
  for (; n > 1; n -= 2) {
    const TwoOutputs sum = dot_3x3_twice<kStride>(rows, w);
    rows.a += 2 * kStride, rows.b += 2 * kStride, rows.c += 2 * kStride;
    *y = scalar_output(sum.left, scale, range), y += step;
    *y = scalar_output(sum.right, scale, range), y += step;
  }
  if (n > 0) *y = scalar_output(dot_3x3_twice<kStride>(rows, w).left, scale, range);
}

// The same for any kernel; `oldest` is the ring's first row.
[[gnu::noinline]] void outputs_any(const Layer& l, uint32_t oldest, int8_t* y, uint32_t n, const DspScale& scale) {
  for (uint32_t i = 0; i < n; i++, y += l.out_column) {
    int32_t acc = 0;
    const int32_t* w = l.weights;
    for (uint32_t r = 0, slot = oldest; r < l.p.k_h; r++) {
      const int32_t* x = l.rows + slot * l.row_words + i * l.p.stride_w;
      for (const int32_t* const end = w + l.p.k_w; w < end; w++) acc += *x++ * *w;
      if (++slot == l.p.k_h) slot = 0;
    }
    *y = scalar_output(acc, scale, l.range);
  }
}

void outputs(const Layer& l, uint32_t oldest, int8_t* y, uint32_t n, const DspScale& scale) {
  if (l.p.k_h != 3 || l.p.k_w != 3 || l.p.stride_w > 2) return outputs_any(l, oldest, y, n, scale);
  const int32_t *const r0 = l.rows, *const r1 = r0 + l.row_words, *const r2 = r1 + l.row_words;
  const ThreeRows rows = oldest == 0 ? ThreeRows{r0, r1, r2} : oldest == 1 ? ThreeRows{r1, r2, r0} : ThreeRows{r2, r0, r1};
  const auto run = l.p.stride_w == 1 ? outputs_3x3<1> : outputs_3x3<2>;
  run(rows, l.weights, y, int32_t(n), l.out_column, scale, l.range);
}

// Output columns ox .. ox + n - 1 of one channel, from top to bottom. Row numbers count from the top of the padding.
void tile(const Layer& l, const int8_t* x, int8_t* y, uint32_t ox, uint32_t n, const DspScale& scale) {
  const ConvParams& p = l.p;
  const uint32_t words = (n - 1) * p.stride_w + p.k_w;
  uint32_t next = 0, slot = 0;  // next row to widen, and where; once k_h rows are there, that is where the oldest lies
  y += ox * l.out_column;
  for (uint32_t oy = 0, first = 0; oy < p.out_h; oy++, first += p.stride_h, y += l.out_row) {
    for (next = next < first ? first : next; next < first + p.k_h; next++) {
      widen_row(l, x, l.rows + slot * l.row_words, next - p.pad_t, ox * p.stride_w, words);
      if (++slot == p.k_h) slot = 0;
    }
    outputs(l, slot, y, n, scale);
  }
}

Layer layer_of(const ConvParams& p, int32_t* scratch) {
  const ConvParams q = conv_lying(p);
  const uint32_t in_c = p.in_c, out_c = p.out_c, in_line = in_c * p.in_w, out_line = out_c * p.out_w;
  int32_t* const rows = scratch + uint32_t(p.k_h) * p.k_w;
  const ScalarRange range = {2 * p.out_zero + 1, p.lo, p.hi};
  if (conv_upright(p)) return {q, in_c, in_line, out_c, out_line, scratch, rows, conv_depthwise_row(q), range};
  return {q, in_line, in_c, out_line, out_c, scratch, rows, conv_depthwise_row(q), range};
}

// A channel's weights (k_h, k_w), as words in the order of the layer's rows.
const int8_t* widen_weights(const Layer& l, const int8_t* w, bool upright) {
  const uint32_t k_h = l.p.k_h, k_w = l.p.k_w;
  for (uint32_t r = 0, k = 0; r < k_h; r++)
    for (uint32_t s = 0; s < k_w; s++) l.weights[k++] = w[upright ? s * k_h + r : r * k_w + s];
  return w + k_h * k_w;
}

}  // namespace

extern "C" void conv2d_s8_scalar_depthwise(const KernelArgs* args) {
  const ConvParams& p = *static_cast<const ConvParams*>(args->params);
  const Layer layer = layer_of(p, static_cast<int32_t*>(args->scratch));
  const uint32_t multiplier = uint32_t(conv_group_out(p)), columns = layer.p.out_w;
  const DspScale* const table = at<DspScale>(args, p.tables);
  const int8_t* x = static_cast<const int8_t*>(args->operand[0]);
  int8_t* y = static_cast<int8_t*>(args->operand[1]);
  for (uint32_t n = 0; n < p.n; n++) {
    const int8_t* weights = at<int8_t>(args, p.weights);
    for (uint32_t o = 0, group = 0, of_group = 0; o < p.out_c; o++) {
      weights = widen_weights(layer, weights, conv_upright(p));
      for (uint32_t ox = 0; ox < columns; ox += kDepthwiseTile)
        tile(layer, x + group, y + o, ox, least(kDepthwiseTile, columns - ox), table[o]);
      if (++of_group == multiplier) of_group = 0, group++;
    }
    x += uint32_t(p.in_h) * p.in_w * p.in_c, y += uint32_t(p.out_h) * p.out_w * p.out_c;
  }
}

extern "C" bool conv2d_s8_scalar_depthwise_check(const CheckArgs* a) {
  return conv_check(a, conv_plain_weights, conv_scalar_tables, 0) && conv_params(a).groups == conv_params(a).in_c &&
         conv_taps4(conv_params(a)) <= kScalarTaps && conv_params(a).dil_h == 1 && conv_params(a).dil_w == 1 &&
         a->scratch_bytes >= conv_depthwise_scratch(conv_params(a));
}

}  // namespace corten
