// softmax and log_softmax, int8, without float. Every row must equal this, bit for bit.
//   m = max x, e_j = exp((x_j - m) * in_scale) in 1.31, the product of two table entries, sum = e_0 + ... in 64 bits
//   softmax:     y = clamp(round(e / sum / out_scale) + out_zero), by one reciprocal per row
//   log_softmax: y = clamp(round(-((m - x) * in_scale + ln 2 * log2(sum)) / out_scale) + out_zero)
#pragma once
#include "ops/softmax/params.h"
#include "runtime/fixed.h"
#include "runtime/kernel.h"

namespace corten {

// exp for `below` = m - x. The last bit is always 0, which takes no more than the product's high word.
inline uint32_t softmax_exp(const uint32_t* table, uint32_t below) {
  return uint32_t((uint64_t(table[below >> 4]) * table[16 + (below & 15)] + 0x80000000u) >> 32) << 1;
}

// The sum of one row, normalised: sum = top * 2^(32 - zeros), top in [2^31, 2^32), rounded down.
struct SoftmaxSum {
  uint32_t top;
  int32_t zeros;  // leading zeros of the 64-bit sum, 0..63
};

inline SoftmaxSum softmax_normalise(uint64_t sum) {
  if (sum == 0) sum = 1;  // only a table that is none
  const uint32_t high = uint32_t(sum >> 32);
  const int32_t zeros = high ? __builtin_clz(high) : 32 + __builtin_clz(uint32_t(sum));
  return {uint32_t((sum << zeros) >> 32), zeros};
}

// A row's factor: y = e * factor / 2^shift, rounded half up.
struct SoftmaxFactor {
  uint32_t factor;
  int32_t shift;
};

// floor((2^63 - 1) / top) for top in [2^31, 2^32), bit by bit: a core's library division of 64 bits is larger and no faster.
inline uint32_t softmax_reciprocal(uint32_t top) {
  uint32_t rest = 0x7fffffff, quotient = 0;
  for (int32_t bit = 0; bit < 32; bit++) {
    const bool carry = rest >> 31 != 0;
    rest = rest << 1 | 1, quotient <<= 1;
    if (carry || rest >= top) rest -= top, quotient |= 1;
  }
  return quotient;
}

// 1 / sum = reciprocal / 2^63 / 2^(32 - zeros), and 1 / out_scale = mult / 2^(31 + shift); the product's top 31 bits are kept.
inline SoftmaxFactor softmax_factor(const SoftmaxParams& p, uint64_t sum) {
  const SoftmaxSum s = softmax_normalise(sum);
  const uint32_t reciprocal = softmax_reciprocal(s.top);
  return {uint32_t(uint64_t(reciprocal) * uint32_t(p.scale.mult) >> 32), 94 + p.scale.shift - s.zeros};
}

// y = round(e * factor / 2^shift) + out_zero. The product is below 2^63, so from shift 33 on its high word is enough.
inline int8_t softmax_one(const SoftmaxParams& p, SoftmaxFactor f, uint32_t e) {
  if (f.shift > 63) return to_int8(0, p.out_zero, p.lo, p.hi);  // below a quarter of a step
  const uint64_t product = uint64_t(e) * f.factor;
  const uint32_t most = 511;  // beyond any clamp
  if (f.shift >= 33) {
    const uint32_t v = (uint32_t(product >> 32) + (1u << (f.shift - 33))) >> (f.shift - 32);
    return to_int8(int32_t(v < most ? v : most), p.out_zero, p.lo, p.hi);
  }
  const uint64_t v = (product + (uint64_t(1) << (f.shift - 1))) >> f.shift;
  return to_int8(int32_t(v < most ? v : most), p.out_zero, p.lo, p.hi);
}

// log2(sum / 2^31) in 1/2^24, rounded down: the fraction bit by bit, each squaring doubles the logarithm.
inline int32_t softmax_log2(uint64_t sum) {
  const SoftmaxSum s = softmax_normalise(sum);
  int32_t log = 32 - s.zeros;
  uint64_t x = s.top;
  for (int32_t bit = 0; bit < 24; bit++) {
    x = x * x >> 31;
    const int32_t carry = int32_t(x >> 32);
    x >>= carry;
    log = log * 2 + carry;
  }
  return log;
}

// The row's part of log_softmax, in 1/2^shift output steps.
inline int64_t log_softmax_base(const SoftmaxParams& p, uint64_t sum) {
  const int64_t half = p.scale.shift > 0 ? int64_t(1) << (p.scale.shift - 1) : 0;
  return half - ((int64_t(softmax_log2(sum)) * p.log_mult) >> 24);
}

inline int8_t log_softmax_one(const SoftmaxParams& p, int64_t base, int32_t below) {  // below = max - x
  const int64_t v = (base - int64_t(below) * p.scale.mult) >> p.scale.shift;
  return to_int8(v < -512 ? -512 : v > 512 ? 512 : int32_t(v), p.out_zero, p.lo, p.hi);
}

// One softmax over n elements, `step` bytes apart.
inline void softmax_row(const SoftmaxParams& p, const uint32_t* table, const int8_t* x, int8_t* y, uint32_t step) {
  int32_t most = -128;
  for (uint32_t i = 0; i < p.n; i++) most = x[i * step] > most ? x[i * step] : most;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < p.n; i++) sum += softmax_exp(table, uint32_t(most - x[i * step]));
  if (p.log) {
    const int64_t base = log_softmax_base(p, sum);
    for (uint32_t i = 0; i < p.n; i++) y[i * step] = log_softmax_one(p, base, most - x[i * step]);
  } else {
    const SoftmaxFactor f = softmax_factor(p, sum);
    for (uint32_t i = 0; i < p.n; i++) y[i * step] = softmax_one(p, f, softmax_exp(table, uint32_t(most - x[i * step])));
  }
}

inline void softmax_reference(const SoftmaxParams& p, const uint32_t* table, const int8_t* x, int8_t* y) {
  const uint32_t block = p.n * p.inner;
  for (uint32_t o = 0; o < p.outer; o++)
    for (uint32_t i = 0; i < p.inner; i++) softmax_row(p, table, x + o * block + i, y + o * block + i, p.inner);
}

// Common to all rows.
inline bool softmax_check(const CheckArgs* c) {
  if (c->params_bytes != sizeof(SoftmaxParams) || c->operands != 2) return false;
  const SoftmaxParams& p = *static_cast<const SoftmaxParams*>(c->params);
  if (!p.outer || !p.n || !p.inner || p.log > 1 || p.lo > p.hi || !scale_ok(p.scale) || p.log_mult < 0) return false;
  if (p.log && (p.scale.shift < 0 || p.scale.shift > 30)) return false;
  const uint64_t block = uint64_t(p.n) * p.inner;
  if (block > UINT32_MAX || block * p.outer != c->operand_bytes[0] || c->operand_bytes[0] != c->operand_bytes[1]) return false;
  return in_image(c, p.table, kSoftmaxTable, sizeof(uint32_t), 4);
}

}  // namespace corten
