// Depthwise conv2d, cores without DSP: channel by channel, the rows of a window widened to words in scratch, padding included, so
// that no border is special. Wide images are done in tiles of kDepthwiseTile output columns.
#include "ops/conv2d/pack_scalar.h"
#include "ops/conv2d/scalar_depthwise_inner.h"
#include "runtime/kernel.h"
#include "runtime/scalar_scale.h"

namespace corten {
namespace {

// One channel: where it lies, its weights as words, and the ring of k_h rows.
struct Channel {
  const int8_t* x;
  int8_t* y;
  const int32_t* w;
  int32_t* rows;
  uint32_t row_words;
  DspScale scale;
  ScalarRange range;
};

int32_t* fill_words(int32_t* to, uint32_t n, int32_t value) {
  for (; n > 0; n--) *to++ = value;
  return to;
}

constexpr uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

// Input row `iy` (huge if above the image) from padded column `begin` on, n words; what lies outside reads as the zero point.
void widen_row(const ConvParams& p, const Channel& c, int32_t* to, uint32_t iy, uint32_t begin, uint32_t n) {
  if (iy >= p.in_h) {
    fill_words(to, n, p.in_zero);
    return;
  }
  const uint32_t left = begin < p.pad_l ? least(p.pad_l - begin, n) : 0;
  const uint32_t ix = begin + left - p.pad_l, inside = ix < p.in_w ? least(p.in_w - ix, n - left) : 0;
  to = fill_words(to, left, p.in_zero);
  const uint32_t step = p.in_c;
  const int8_t* x = c.x + (iy * p.in_w + ix) * step;
  for (uint32_t i = 0; i < inside; i++, x += step) *to++ = *x;
  fill_words(to, n - left - inside, p.in_zero);
}

// n outputs of a row; rows[r] is row r of the first window.
template <int32_t kStride>
void outputs_3x3(const ConvParams& p, const Channel& c, const int32_t* rows[], int8_t* y, uint32_t n) {
  const uint32_t step = p.out_c;
  for (; n > 0; n -= n > 1 ? 2 : 1) {
    const TwoOutputs sum = dot_3x3_twice<kStride>(rows, c.w);
    for (int32_t r = 0; r < 3; r++) rows[r] += 2 * kStride;
    *y = scalar_output(sum.left, c.scale, c.range);
    y += step;
    if (n == 1) break;
    *y = scalar_output(sum.right, c.scale, c.range);
    y += step;
  }
}

void outputs_any(const ConvParams& p, const Channel& c, uint32_t oldest, int8_t* y, uint32_t n) {
  for (uint32_t i = 0; i < n; i++, y += p.out_c) {
    int32_t acc = 0;
    const int32_t* w = c.w;
    for (uint32_t r = 0, slot = oldest; r < p.k_h; r++) {
      const int32_t* x = c.rows + slot * c.row_words + i * p.stride_w;
      for (const int32_t* const end = w + p.k_w; w < end; w++) acc += *x++ * *w;
      if (++slot == p.k_h) slot = 0;
    }
    *y = scalar_output(acc, c.scale, c.range);
  }
}

void outputs(const ConvParams& p, const Channel& c, uint32_t oldest, int8_t* y, uint32_t n) {
  if (p.k_h != 3 || p.k_w != 3 || p.stride_w > 2) return outputs_any(p, c, oldest, y, n);
  const int32_t *const r0 = c.rows, *const r1 = r0 + c.row_words, *const r2 = r1 + c.row_words;
  const int32_t* rows[3] = {oldest == 0 ? r0 : oldest == 1 ? r1 : r2, oldest == 0 ? r1 : oldest == 1 ? r2 : r0,
                            oldest == 0 ? r2 : oldest == 1 ? r0 : r1};
  p.stride_w == 1 ? outputs_3x3<1>(p, c, rows, y, n) : outputs_3x3<2>(p, c, rows, y, n);
}

// Output columns ox .. ox + n - 1 of one channel, from top to bottom. Row numbers count from the top of the padding.
void tile(const ConvParams& p, const Channel& c, uint32_t ox, uint32_t n) {
  const uint32_t words = (n - 1) * p.stride_w + p.k_w;
  uint32_t next = 0, slot = 0;  // next row to widen, and where; once k_h rows are there, that is where the oldest lies
  int8_t* y = c.y + ox * p.out_c;
  for (uint32_t oy = 0; oy < p.out_h; oy++, y += uint32_t(p.out_w) * p.out_c) {
    const uint32_t first = oy * p.stride_h;
    for (next = next < first ? first : next; next < first + p.k_h; next++) {
      widen_row(p, c, c.rows + slot * c.row_words, next - p.pad_t, ox * p.stride_w, words);
      if (++slot == p.k_h) slot = 0;
    }
    outputs(p, c, slot, y, n);
  }
}

}  // namespace

extern "C" void conv2d_s8_scalar_depthwise(const KernelArgs* args) {
  const ConvParams p = conv_lying(*static_cast<const ConvParams*>(args->params));
  const uint32_t taps = uint32_t(p.k_h) * p.k_w, multiplier = uint32_t(conv_group_out(p));
  const DspScale* const table = at<DspScale>(args, p.tables);
  const ScalarRange range = {2 * p.out_zero + 1, p.lo, p.hi};
  int32_t* const w = static_cast<int32_t*>(args->scratch);
  const int8_t* x = static_cast<const int8_t*>(args->operand[0]);
  int8_t* y = static_cast<int8_t*>(args->operand[1]);
  for (uint32_t n = 0; n < p.n; n++) {
    const int8_t* weights = at<int8_t>(args, p.weights);
    for (uint32_t o = 0, group = 0, of_group = 0; o < p.out_c; o++) {
      for (uint32_t k = 0; k < taps; k++) w[k] = *weights++;
      const Channel c = {x + group, y + o, w, w + taps, conv_depthwise_row(p), table[o], range};
      for (uint32_t ox = 0; ox < p.out_w; ox += kDepthwiseTile) tile(p, c, ox, least(kDepthwiseTile, p.out_w - ox));
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
