// pool on MVE: sixteen channels (max) or eight (average) at a time; the tail is predicated, so nothing beyond it is read.
#include "runtime/mve.h"
#include "ops/pool/loops.h"
#include "ops/pool/reference.h"

namespace corten {
namespace {

int8x16_t window_max(const PoolWindow& w, int32_t c, mve_pred16_t some) {
  int8x16_t most = vdupq_n_s8(-128);
  const int8_t* row = w.x + c;
  for (int32_t i = 0; i < w.rows; i++, row += w.row_step) {
    const int8_t* tap = row;
    for (int32_t j = 0; j < w.columns; j++, tap += w.column_step) most = vmaxq_s8(most, vld1q_z_s8(tap, some));
  }
  return most;
}

// Sums of eight channels.
struct Sums {
  int32x4_t even, odd;
};

// n >= 1 taps of eight channels, `step` bytes apart, at most 255. Assembly for the low-overhead loop around the two instructions.
int16x8_t run_sum(const int8_t* tap, int32_t n, int32_t step, mve_pred16_t some) {
  int16x8_t sum = vdupq_n_s16(0), x = sum;
  asm volatile(
      "vmsr p0, %[some]\n"
      "dls lr, %[n]\n"
      "1:\n"
      "vpst\n"
      "vldrbt.s16 %q[x], [%[tap]]\n"
      "add %[tap], %[step]\n"
      "vadd.i16 %q[sum], %q[sum], %q[x]\n"
      "le lr, 1b\n"
      : [tap] "+l"(tap), [sum] "+w"(sum), [x] "+w"(x)
      : [n] "r"(n), [step] "r"(step), [some] "r"(some)
      : "lr", "p0", "memory");
  return sum;
}

Sums window_sums(const PoolWindow& w, int32_t c, mve_pred16_t some) {
  Sums s = {vdupq_n_s32(0), vdupq_n_s32(0)};
  const int8_t* row = w.x + c;
  for (int32_t i = 0; i < w.rows; i++, row += w.row_step) {
    const int8_t* tap = row;
    for (int32_t left = w.columns; left > 0; left -= 255, tap += 255 * w.column_step) {
      const int16x8_t part = run_sum(tap, left < 255 ? left : 255, w.column_step, some);
      s.even = vaddq_s32(s.even, vmovlbq_s16(part)), s.odd = vaddq_s32(s.odd, vmovltq_s16(part));
    }
  }
  return s;
}

// requantise() for any shift, as fixed.h derives it.
struct Requantise {
  int32_t mult, left, right;
  explicit Requantise(Scale s) : mult(s.mult) {
    const int32_t shift = clamp(s.shift, -30, 31);
    left = shift < 1 ? 1 - shift : 0, right = shift < 1 ? -1 : -shift;
  }
  int32x4_t operator()(int32x4_t acc) const {
    acc = vqdmulhq_n_s32(vqshlq_r_s32(acc, left), mult);
    return vrshlq_n_s32(acc, right);
  }
};

// Pixels apart from the loop over them, which would take their registers.
__attribute__((noinline)) void max_pixel(const PoolParams& p, const PoolWindow& w, int8_t* y) {
  const int8x16_t lo = vdupq_n_s8(p.lo), hi = vdupq_n_s8(p.hi);
  for (int32_t c = 0; c < p.c; c += 16) {
    const mve_pred16_t some = vctp8q(uint32_t(p.c - c));
    vst1q_p_s8(y + c, vminq_s8(vmaxq_s8(window_max(w, c, some), lo), hi), some);
  }
}

__attribute__((noinline)) void average_pixel(const PoolParams& p, const Scale* scales, const PoolWindow& w, int8_t* y) {
  const Requantise scaled(pool_window_scale(p, scales, w));
  const int32_t zeros = w.rows * w.columns * p.in_zero;
  for (int32_t c = 0; c < p.c; c += 8) {
    const mve_pred16_t some = vctp16q(uint32_t(p.c - c));
    const Sums s = window_sums(w, c, some);
    const int32x4_t even = vqaddq_n_s32(scaled(vsubq_n_s32(s.even, zeros)), p.out_zero);
    const int32x4_t odd = vqaddq_n_s32(scaled(vsubq_n_s32(s.odd, zeros)), p.out_zero);
    const int16x8_t narrow = vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);
    vstrbq_p_s16(y + c, vminq_s16(vmaxq_s16(narrow, vdupq_n_s16(p.lo)), vdupq_n_s16(p.hi)), some);
  }
}

}  // namespace

extern "C" void pool_s8_mve_max(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  for_each_window(p, static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]),
                  [&p](const PoolWindow& w, int8_t* y) { max_pixel(p, w, y); });
}

extern "C" bool pool_s8_mve_max_check(const CheckArgs* a) { return pool_check(a, kPoolMax); }

extern "C" void pool_s8_mve_average(const KernelArgs* k) {
  const PoolParams& p = *static_cast<const PoolParams*>(k->params);
  const Scale* scales = at<Scale>(k, p.scales);
  for_each_window(p, static_cast<const int8_t*>(k->operand[0]), static_cast<int8_t*>(k->operand[1]),
                  [&p, scales](const PoolWindow& w, int8_t* y) { average_pixel(p, scales, w, y); });
}

extern "C" bool pool_s8_mve_average_check(const CheckArgs* a) { return pool_check(a, kPoolAverage); }

}  // namespace corten
