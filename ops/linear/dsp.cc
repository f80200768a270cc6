// linear, DSP extension.
#include "ops/linear/dsp_inner.h"
#include "ops/linear/pack_dsp.h"
#include "ops/linear/reference.h"

namespace corten {

static int32_t combined_bias(int32_t a, int32_t word) { return int32_t(uint32_t(a) + (uint32_t(word) & ~255u)); }

// The second of a pair: its sum less the first's is 256 times the accumulator.
static int8_t second_output(int32_t b, int32_t a, const DspScale& s, int32_t twice_zero) {
  return dsp_requantise(int32_t(uint32_t(b) - uint32_t(a)), s.mult, dsp_addend(twice_zero, s.word), s.word);
}
static int8_t first_output(int32_t a, const DspScale& s, int32_t twice_zero) {
  return dsp_requantise(a, s.mult, dsp_addend(twice_zero, s.word), s.word);
}

static const uint32_t* four_outputs(const uint32_t* weights, const int8_t* x, const RowTail& tail, Sums4& s) {
  int32_t fours = tail.fours;
  bool more = tail.any;
  if (!fours) x = tail.bytes, fours = 1, more = false;
  for (;;) {
    dot_4x1(weights, x, fours, s);
    if (!more) return weights;
    x = tail.bytes, fours = 1, more = false;
  }
}

extern "C" void linear_s8_dsp(const KernelArgs* args) {
  const LinearParams& p = *static_cast<const LinearParams*>(args->params);
  const int8_t* x = static_cast<const int8_t*>(args->operand[0]);
  int8_t* y = static_cast<int8_t*>(args->operand[1]);
  const int32_t twice_zero = 2 * p.out_zero + 1;
  for (uint32_t r = 0; r < p.rows; r++, x += p.in) {
    const uint32_t* weights = at<uint32_t>(args, p.weights);
    const DspScale* scale = at<DspScale>(args, p.tables);
    const RowTail tail(x, p.in);
    int32_t left = int32_t(p.out);
    for (; left > 2; left -= 4, scale += 4, y += 4) {
      Sums4 s;
      s.a = dsp_bias(scale[0].word), s.b = combined_bias(s.a, scale[1].word);
      s.c = dsp_bias(scale[2].word), s.d = combined_bias(s.c, scale[3].word);
      weights = four_outputs(weights, x, tail, s);
      y[0] = first_output(s.a, scale[0], twice_zero), y[1] = second_output(s.b, s.a, scale[1], twice_zero);
      y[2] = first_output(s.c, scale[2], twice_zero);
      if (left > 3) y[3] = second_output(s.d, s.c, scale[3], twice_zero);
    }
    if (left > 0) {
      int32_t a = dsp_bias(scale[0].word), b = combined_bias(a, scale[1].word);
      dot_2x1<true>(weights, 1, x, tail.fours, a, b);
      if (tail.any) dot_2x1<true>(weights + 2 * tail.fours, 1, tail.bytes, 1, a, b);
      y[0] = first_output(a, scale[0], twice_zero);
      if (left > 1) y[1] = second_output(b, a, scale[1], twice_zero);
    }
    y += left;
    if (p.lo != -128 || p.hi != 127) clamp_bytes(y - p.out, int32_t(p.out), p.lo, p.hi);
  }
}

extern "C" bool linear_s8_dsp_check(const CheckArgs* a) { return linear_check(a, linear_dsp_weights, linear_pairs_tables, 0); }

extern "C" void linear_s8_dsp_wide(const KernelArgs* args) {
  const LinearParams& p = *static_cast<const LinearParams*>(args->params);
  const int8_t* x = static_cast<const int8_t*>(args->operand[0]);
  int8_t* y = static_cast<int8_t*>(args->operand[1]);
  const int32_t *bias = at<int32_t>(args, p.tables), *mult = bias + p.out, *shift = mult + p.out;
  for (uint32_t r = 0; r < p.rows; r++, x += p.in) {
    const RowTail tail(x, p.in);
    for (uint32_t o = 0; o < p.out; o += 2) {
      const bool alone = o % 4 == 0 && o + 2 >= p.out, both = o + 1 < p.out;
      const int32_t stride = alone ? 1 : 2;
      const uint32_t* weights = at<uint32_t>(args, p.weights) + o / 4 * linear_dsp_fours(p) * 4 + o % 4 / 2;
      int32_t a = bias[o], b = both ? bias[o + 1] : 0;
      dot_2x1<false>(weights, stride, x, tail.fours, a, b);
      if (tail.any) dot_2x1<false>(weights + 2 * stride * tail.fours, stride, tail.bytes, 1, a, b);
      *y++ = to_int8(requantise(a, mult[o], shift[o]), p.out_zero, p.lo, p.hi);
      if (both) *y++ = to_int8(requantise(b, mult[o + 1], shift[o + 1]), p.out_zero, p.lo, p.hi);
    }
  }
}

extern "C" bool linear_s8_dsp_wide_check(const CheckArgs* a) { return linear_check(a, linear_dsp_weights, linear_plain_tables, 0); }

}  // namespace corten
