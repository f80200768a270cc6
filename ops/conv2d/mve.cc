// conv2d on MVE: 1x1 and general. The taps of an output are brought into one run, then multiplied in mve_gemm.cc.
#include "ops/conv2d/mve_gemm.h"
#include "ops/conv2d/pack_mve.h"
#include "runtime/kernel.h"
#include "runtime/mve.h"

namespace corten {
namespace {

MveLayer layer_of(const KernelArgs* a, const ConvParams& p) {
  return {at<int8_t>(a, p.weights), at<int32_t>(a, p.tables), uint32_t(conv_taps(p)), conv_mve_vectors(p), p.out_c, p.out_zero};
}

// Row iy of the image, or null if it lies outside.
const int8_t* image_row(const ConvParams& p, const int8_t* image, int32_t iy) {
  return iy >= 0 && iy < p.in_h ? image + iy * p.in_w * p.in_c : nullptr;
}

// The input of output row oy, as conv_mve_band describes it.
void build_band(const ConvParams& p, const int8_t* image, int32_t oy, int8_t* band) {
  const int32_t columns = (p.out_w - 1) * p.stride_w + p.k_w, pitch = p.k_h * p.in_c;
  for (int32_t r = 0; r < p.k_h; r++) {
    const int8_t* row = image_row(p, image, oy * p.stride_h - p.pad_t + r * p.dil_h);
    int8_t* to = band + r * p.in_c;
    for (int32_t ix = -p.pad_l; ix < columns - p.pad_l; ix++, to += pitch) {
      const bool inside = row && ix >= 0 && ix < p.in_w;
      if (inside) {
        const int8_t* from = row + ix * p.in_c;
        for (int32_t c = 0; c < p.in_c; c += 16) vst1q_s8(to + c, vld1q_s8(from + c));
      } else {
        mve_fill(to, p.in_zero, p.in_c);
      }
    }
  }
}

// k_w columns of one row, dilated, from column ix on.
void copy_run(const ConvParams& p, const int8_t* row, int32_t ix, int8_t* to) {
  const int32_t c = p.in_c;
  if (p.dil_w == 1) {
    const int32_t left = ix < 0 ? (-ix < p.k_w ? -ix : p.k_w) : 0;
    const int32_t room = p.in_w - ix < p.k_w ? p.in_w - ix : p.k_w, right = room > left ? room : left;
    mve_fill(to, p.in_zero, left * c);
    mve_copy(to + left * c, row + (ix + left) * c, (right - left) * c);
    mve_fill(to + right * c, p.in_zero, (p.k_w - right) * c);
    return;
  }
  for (int32_t s = 0; s < p.k_w; s++, ix += p.dil_w, to += c) {
    if (ix >= 0 && ix < p.in_w)
      mve_copy(to, row + ix * c, c);
    else
      mve_fill(to, p.in_zero, c);
  }
}

void gather_patch(const ConvParams& p, const int8_t* image, int32_t oy, int32_t ox, int8_t* to) {
  const int32_t run = p.k_w * p.in_c;
  for (int32_t r = 0; r < p.k_h; r++, to += run) {
    const int8_t* row = image_row(p, image, oy * p.stride_h - p.pad_t + r * p.dil_h);
    if (row)
      copy_run(p, row, ox * p.stride_w - p.pad_l, to);
    else
      mve_fill(to, p.in_zero, run);
  }
}

void patch_row(const ConvParams& p, const MveLayer& layer, const int8_t* image, int32_t oy, int8_t* patches, int8_t* out) {
  const int32_t pitch = int32_t(layer.vectors) * 16, batch = layer.vectors <= 4 ? kMvePatches : 2;
  for (int32_t ox = 0; ox < p.out_w; ox += batch) {
    const int32_t count = p.out_w - ox < batch ? p.out_w - ox : batch;
    for (int32_t i = 0; i < count; i++) gather_patch(p, image, oy, ox + i, patches + i * pitch);
    mve_pixels(layer, patches, pitch, count, out + ox * p.out_c);
  }
}

}  // namespace

extern "C" void conv2d_s8_mve_point(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const MveLayer layer = layer_of(a, p);
  const int8_t* image = static_cast<const int8_t*>(a->operand[0]);
  int8_t* const out = static_cast<int8_t*>(a->operand[1]);
  const bool flat = conv_is_pointwise(p);
  const int32_t rows = flat ? 1 : p.n * p.out_h, columns = flat ? p.n * p.out_h * p.out_w : p.out_w;
  for (int32_t row = 0; row < rows; row++) {
    const int32_t n = row / p.out_h, oy = row - n * p.out_h;
    mve_pixels(layer, image + (n * p.in_h + oy * p.stride_h) * p.in_w * p.in_c, p.stride_w * p.in_c, columns,
               out + row * columns * p.out_c);
  }
  mve_clamp(out, p.n * p.out_h * p.out_w * p.out_c, p.lo, p.hi);
}

extern "C" bool conv2d_s8_mve_point_check(const CheckArgs* a) {
  return conv_check(a, conv_quads_weights, conv_quads_tables, 0) && conv_mve_point_takes(conv_params(a));
}

extern "C" void conv2d_s8_mve(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const MveLayer layer = layer_of(a, p);
  const int8_t* image = static_cast<const int8_t*>(a->operand[0]);
  int8_t *const out = static_cast<int8_t*>(a->operand[1]), *scratch = static_cast<int8_t*>(a->scratch);
  const bool band = conv_mve_band(p);
  int8_t* to = out;
  for (int32_t n = 0; n < p.n; n++, image += p.in_h * p.in_w * p.in_c)
    for (int32_t oy = 0; oy < p.out_h; oy++, to += p.out_w * p.out_c) {
      if (band) {
        build_band(p, image, oy, scratch);
        mve_pixels(layer, scratch, p.stride_w * p.k_h * p.in_c, p.out_w, to);
      } else {
        patch_row(p, layer, image, oy, scratch, to);
      }
    }
  mve_clamp(out, p.n * p.out_h * p.out_w * p.out_c, p.lo, p.hi);
}

extern "C" bool conv2d_s8_mve_check(const CheckArgs* a) {
  return conv_check(a, conv_quads_weights, conv_quads_tables, 0) && conv_params(a).groups == 1 &&
         a->scratch_bytes >= conv_mve_scratch(conv_params(a));
}

}  // namespace corten
