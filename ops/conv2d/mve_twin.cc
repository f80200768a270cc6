// Portable twins of the MVE rows: the same packed bytes, plain loops.
#include <vector>

#include "ops/conv2d/pack_mve.h"
#include "ops/conv2d/pack_mve_depthwise.h"
#include "runtime/kernel.h"
#include "runtime/mve_twin.h"

namespace corten {
namespace {

// One output: channel o at (oy, ox) of image x.
template <bool kDense>
int8_t output_of(const KernelArgs* a, const ConvParams& p, const int8_t* x, int32_t oy, int32_t ox, uint32_t o) {
  const int8_t* weights = at<int8_t>(a, p.weights);
  const int32_t* quad = at<int32_t>(a, p.tables) + o / 4 * 9;
  const int8_t negative_shift = reinterpret_cast<const int8_t*>(quad + 8)[o % 4];
  uint32_t acc = uint32_t(quad[o % 4]);
  for (uint32_t r = 0; r < p.k_h; r++)
    for (uint32_t s = 0; s < p.k_w; s++) {
      const int32_t iy = oy * p.stride_h - p.pad_t + int32_t(r * p.dil_h), ix = ox * p.stride_w - p.pad_l + int32_t(s * p.dil_w);
      const bool inside = iy >= 0 && iy < p.in_h && ix >= 0 && ix < p.in_w;
      for (uint32_t c = 0; c < p.in_c; c++) {
        const int32_t value = inside ? x[(iy * p.in_w + ix) * p.in_c + int32_t(c)] : p.in_zero;
        const uint32_t k = conv_mve_tap(p, r, s, c);
        const uint32_t at = kDense ? o * uint32_t(conv_taps(p)) + k : conv_quads_at(conv_mve_vectors(p), o, k);
        acc += uint32_t(value * weights[at]);
      }
    }
  return to_int8(mve_requantise(acc, quad[4 + o % 4], negative_shift), p.out_zero, p.lo, p.hi);
}

template <class F>
void for_outputs(const KernelArgs* a, F output) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const int8_t* input = static_cast<const int8_t*>(a->operand[0]);
  const std::vector<int8_t> copy(input, input + p.n * p.in_h * p.in_w * p.in_c);  // the rows may work in place
  const int8_t* x = copy.data();
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  for (int32_t n = 0; n < p.n; n++, x += p.in_h * p.in_w * p.in_c)
    for (int32_t oy = 0; oy < p.out_h; oy++)
      for (int32_t ox = 0; ox < p.out_w; ox++)
        for (uint32_t o = 0; o < p.out_c; o++) *y++ = output(a, p, x, oy, ox, o);
}

// One output of a depthwise row.
int8_t lanes_output(const KernelArgs* a, const ConvParams& p, const int8_t* x, int32_t oy, int32_t ox, uint32_t o) {
  const uint32_t block = o / 16, lane = o % 16;
  const int8_t* weights = at<int8_t>(a, p.weights) + block * conv_lanes_taps(p) * 16 + lane;
  const int8_t* table = at<int8_t>(a, p.tables) + block * kLanesTable;
  uint32_t acc = uint32_t(*reinterpret_cast<const int32_t*>(table + conv_lanes_bias_at(lane)));
  for (uint32_t r = 0; r < p.k_h; r++)
    for (uint32_t s = 0; s < p.k_w; s++) {
      const int32_t iy = oy * p.stride_h - p.pad_t + int32_t(r * p.dil_h), ix = ox * p.stride_w - p.pad_l + int32_t(s * p.dil_w);
      const bool inside = iy >= 0 && iy < p.in_h && ix >= 0 && ix < p.in_w;
      const int32_t value = inside ? x[(iy * p.in_w + ix) * p.in_c + int32_t(o)] : p.in_zero;
      acc += uint32_t(value * weights[conv_lanes_tap(p, r, s) * 16]);
    }
  const int32_t mult = *reinterpret_cast<const int32_t*>(table + conv_lanes_mult_at(lane));
  const int32_t scaled = mve_requantise(acc, mult, table[conv_lanes_shift_at(lane)]);
  return to_int8(scaled, p.out_zero, p.lo, p.hi);
}

}  // namespace

#define QUADS_TWIN(name, check, from, to)                                         \
  extern "C" void name(const KernelArgs* a) { for_outputs(a, output_of<false>); } \
  extern "C" bool name##_check(const CheckArgs* a) { return check(a, from, to); }
QUADS_TWIN(conv2d_s8_mve_point16, conv_point_check, 1, 16)
QUADS_TWIN(conv2d_s8_mve_point64, conv_point_check, 17, 64)
QUADS_TWIN(conv2d_s8_mve_point, conv_point_check, 65, INT32_MAX)
QUADS_TWIN(conv2d_s8_mve16, conv_mve_check, 1, 16)
QUADS_TWIN(conv2d_s8_mve64, conv_mve_check, 17, 64)
QUADS_TWIN(conv2d_s8_mve, conv_mve_check, 65, INT32_MAX)
QUADS_TWIN(conv2d_s8_mve_any, conv_mve_check, 1, INT32_MAX)
#undef QUADS_TWIN

extern "C" void conv2d_s8_mve64_dense(const KernelArgs* a) { for_outputs(a, output_of<true>); }
extern "C" bool conv2d_s8_mve64_dense_check(const CheckArgs* a) { return conv_mve_dense_check(a); }

extern "C" void conv2d_s8_mve_depthwise3x3(const KernelArgs* a) { for_outputs(a, lanes_output); }
extern "C" bool conv2d_s8_mve_depthwise3x3_check(const CheckArgs* a) {
  return conv_lanes_check(a) && conv_mve_is_3x3(conv_params(a)) && !conv_mve_two_pixels(conv_params(a));
}

extern "C" void conv2d_s8_mve_depthwise3x3_of8(const KernelArgs* a) { for_outputs(a, lanes_output); }
extern "C" bool conv2d_s8_mve_depthwise3x3_of8_check(const CheckArgs* a) {
  return conv_lanes_check(a) && conv_mve_two_pixels(conv_params(a));
}

extern "C" void conv2d_s8_mve_depthwise(const KernelArgs* a) { for_outputs(a, lanes_output); }
extern "C" bool conv2d_s8_mve_depthwise_check(const CheckArgs* a) {
  return conv_lanes_check(a) && !conv_mve_is_3x3(conv_params(a));
}

extern "C" void conv2d_s8_mve_depthwise_wide(const KernelArgs* a) { for_outputs(a, lanes_output); }
extern "C" bool conv2d_s8_mve_depthwise_wide_check(const CheckArgs* a) {
  return conv_lanes_check(a) && a->scratch_bytes >= conv_lanes_wide_scratch(conv_params(a));
}

}  // namespace corten
