// conv2d on MVE: 1x1 and general. The taps of an output are brought into one run, then multiplied in mve_gemm.cc.
#include "ops/conv2d/mve_gather.h"
#include "ops/conv2d/mve_gemm.h"
#include "ops/conv2d/pack_mve.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {
namespace {

MveLayer layer_of(const KernelArgs* a, const ConvParams& p) {
  return {at<int8_t>(a, p.weights),
          at<int32_t>(a, p.tables),
          uint32_t(conv_taps(p)),
          conv_mve_vectors(p),
          p.out_c,
          p.out_zero,
          p.out_c,
          static_cast<int8_t*>(a->scratch)};
}

// `runs` times 16 bytes, of which `run` count, from rows `row` apart, next to one another; the same for each pixel.
void short_runs(const int8_t* from, int32_t from_step, int32_t row, int32_t runs, int32_t run, int8_t* to, int32_t to_step,
                int32_t pixels) {
  const int8_t* f;
  int8_t* t;
  asm volatile(
      "1:\n mov %[f], %[from]\n mov %[t], %[to]\n dls lr, %[runs]\n"
      "2:\n vldrb.8 q0, [%[f]]\n add %[f], %[row]\n vstrb.8 q0, [%[t]]\n add %[t], %[run]\n le lr, 2b\n"
      "add %[from], %[from_step]\n add %[to], %[to_step]\n subs %[pixels], #1\n bgt 1b\n"
      : [f] "=&r"(f), [t] "=&r"(t), [from] "+r"(from), [to] "+r"(to), [pixels] "+r"(pixels)
      : [runs] "r"(runs), [row] "r"(row), [run] "r"(run), [from_step] "r"(from_step), [to_step] "r"(to_step)
      : "q0", "lr", "cc", "memory");
}

// The patches of `pixels` outputs, from the staged rows; writes up to 15 bytes beyond.
__attribute__((noinline)) void gather_patches(const ConvParams& p, const int8_t* stage, int32_t row, int32_t pixels, int8_t* to,
                                              int32_t pitch) {
  const bool dense = p.dil_w == 1;
  const int32_t run = dense ? p.k_w * p.in_c : p.in_c, runs = dense ? 1 : p.k_w, step = p.stride_w * p.in_c;
  if (dense && run <= 16) return short_runs(stage, step, row, p.k_h, run, to, pitch, pixels);
  for (; pixels > 0; pixels--, stage += step, to += pitch) {
    int8_t* t = to;
    for (int32_t r = 0; r < p.k_h; r++)
      for (int32_t s = 0; s < runs; s++, t += run) {
        const int8_t* from = stage + r * row + s * p.dil_w * p.in_c;
        for (int32_t i = 0; i < run; i += 16) vst1q_s8(t + i, vld1q_s8(from + i));
      }
  }
}

// Not a part of general(), whose stack need not hold this too.
__attribute__((noinline)) void patched_row(const ConvParams& p, const MveLayer& layer, PixelsFn* run, const int8_t* stage,
                                           int32_t row, int8_t* patches, int8_t* out) {
  const int32_t pitch = int32_t(layer.vectors) * 16, batch = layer.vectors <= 4 ? kMvePatches : 2;
  for (int32_t ox = 0; ox < p.out_w; ox += batch) {
    const int32_t pixels = p.out_w - ox < batch ? p.out_w - ox : batch;
    gather_patches(p, stage + ox * p.stride_w * p.in_c, row, pixels, patches, pitch);
    run(layer, patches, pitch, pixels, out + ox * p.out_c);
  }
}

// What the functions of mve_gemm.cc do, for scales of a half and more too.
void any_pixels(const MveLayer& l, const int8_t* x, int32_t step, int32_t count, int8_t* out) {
  for (; count > 0; count--, x += step)
    for (int32_t o = 0; o < l.out_c; o++) {
      const int32_t* quad = l.tables + o / 4 * kQuadTable;
      const int32_t bias = quad[o % 4], mult = quad[4 + o % 4], shift = -reinterpret_cast<const int8_t*>(quad + 8)[o % 4];
      const int8_t* w = l.weights + conv_quads_at(l.vectors, uint32_t(o), 0);
      int32_t acc = bias;
      for (uint32_t v = 0; v < l.vectors; v++) acc = vmladavaq_s8(acc, vld1q_s8(x + v * 16), vld1q_s8(w + v * 32));
      *out++ = to_int8(requantise(acc, mult, clamp(shift, -30, 31)), l.out_zero, -128, 127);
    }
}

// A quad at a time, whose weights get their zeros first.
void dense_pixels(const MveLayer& l, const int8_t* x, int32_t step, int32_t count, int8_t* out) {
  MveLayer quad = l;
  quad.weights = l.room;
  const int8_t* from = l.weights;
  for (int32_t left = l.out_c; left > 0; left -= 4, out += 4, quad.tables += kQuadTable) {
    quad.out_c = left < 4 ? left : 4;
    for (int32_t o = 0; o < quad.out_c; o++, from += l.taps) {
      int8_t* to = l.room + conv_quads_at(l.vectors, uint32_t(o), 0);
      for (uint32_t k = 0; k < l.taps; k += 16, to += 32) vst1q_s8(to, vld1q_z_s8(from + k, vctp8q(l.taps - k)));
    }
    mve_pixels_64(quad, x, step, count, out);
  }
}

// Scratch begins with `room` bytes for the layer.
void general(const KernelArgs* a, PixelsFn* run, uint32_t room = 0) {
  const ConvParams p = conv_turned(*static_cast<const ConvParams*>(a->params));
  const MveLayer layer = layer_of(a, p);
  const int8_t* image = static_cast<const int8_t*>(a->operand[0]);
  int8_t *const all = static_cast<int8_t*>(a->operand[1]), *stage = static_cast<int8_t*>(a->scratch) + room, *out = all;
  const bool band = conv_mve_band(p);
  const MveColumns columns = mve_columns(p);
  const int32_t bytes = columns.count * p.k_h * p.in_c, row = columns.count * p.in_c;
  mve_fill(stage, p.in_zero, bytes);
  for (int32_t n = 0; n < p.n; n++, image += p.in_h * p.in_w * p.in_c)
    for (int32_t oy = 0; oy < p.out_h; oy++, out += p.out_w * p.out_c) {
      for (int32_t r = 0; r < p.k_h; r++)
        mve_gather_row(p, columns, image, oy * p.stride_h - p.pad_t + r * p.dil_h, p.in_c, stage + r * (band ? p.in_c : row),
                       band ? p.k_h * p.in_c : p.in_c);
      if (band)
        run(layer, stage, p.stride_w * p.k_h * p.in_c, p.out_w, out);
      else
        patched_row(p, layer, run, stage, row, stage + ((bytes + 31) & ~15), out);
    }
  mve_clamp(all, p.n * p.out_h * p.out_w * p.out_c, p.lo, p.hi);
}

void point(const KernelArgs* a, PixelsFn* run) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  const MveLayer layer = layer_of(a, p);
  const int8_t* image = static_cast<const int8_t*>(a->operand[0]);
  int8_t* const out = static_cast<int8_t*>(a->operand[1]);
  const bool flat = conv_is_pointwise(p) && p.in_c > 16;  // up to 16 channels, a row at a time: see overlap.h
  const int32_t rows = flat ? 1 : p.n * p.out_h, columns = flat ? p.n * p.out_h * p.out_w : p.out_w;
  for (int32_t row = 0; row < rows; row++) {
    const int32_t n = row / p.out_h, oy = row - n * p.out_h;
    run(layer, image + (n * p.in_h + oy * p.stride_h) * p.in_w * p.in_c, p.stride_w * p.in_c, columns,
        out + row * columns * p.out_c);
  }
  mve_clamp(out, p.n * p.out_h * p.out_w * p.out_c, p.lo, p.hi);
}

}  // namespace

extern "C" void conv2d_s8_mve_point16(const KernelArgs* a) { point(a, mve_pixels_16); }
extern "C" bool conv2d_s8_mve_point16_check(const CheckArgs* a) { return conv_point_check(a, 1, 16); }
extern "C" void conv2d_s8_mve_point64(const KernelArgs* a) { point(a, mve_pixels_64); }
extern "C" bool conv2d_s8_mve_point64_check(const CheckArgs* a) { return conv_point_check(a, 17, 64); }
extern "C" void conv2d_s8_mve_point(const KernelArgs* a) { point(a, mve_pixels); }
extern "C" bool conv2d_s8_mve_point_check(const CheckArgs* a) { return conv_point_check(a, 65, INT32_MAX); }

extern "C" void conv2d_s8_mve16(const KernelArgs* a) { general(a, mve_pixels_16); }
extern "C" bool conv2d_s8_mve16_check(const CheckArgs* a) { return conv_mve_check(a, 1, 16); }
extern "C" void conv2d_s8_mve64(const KernelArgs* a) { general(a, mve_pixels_64); }
extern "C" bool conv2d_s8_mve64_check(const CheckArgs* a) { return conv_mve_check(a, 17, 64); }
extern "C" void conv2d_s8_mve(const KernelArgs* a) { general(a, mve_pixels); }
extern "C" bool conv2d_s8_mve_check(const CheckArgs* a) { return conv_mve_check(a, 65, INT32_MAX); }

extern "C" void conv2d_s8_mve64_dense(const KernelArgs* a) { general(a, dense_pixels, kMveRoom); }
extern "C" bool conv2d_s8_mve64_dense_check(const CheckArgs* a) { return conv_mve_dense_check(a); }

extern "C" void conv2d_s8_mve_any(const KernelArgs* a) { general(a, any_pixels); }
extern "C" bool conv2d_s8_mve_any_check(const CheckArgs* a) { return conv_mve_check(a, 1, INT32_MAX); }

}  // namespace corten
