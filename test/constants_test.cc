// The integers that constants.h files choose: what the kernels compute with them against the real arithmetic, in double. A result
// may differ from the real one, rounded, only where that is next to a tie, and then by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "ops/add/constants.h"
#include "ops/add/reference.h"
#include "ops/affine/constants.h"
#include "ops/affine/reference.h"
#include "ops/lut/constants.h"
#include "ops/mean/constants.h"
#include "ops/mean/reference.h"
#include "ops/mul/constants.h"
#include "ops/mul/reference.h"
#include "ops/pool/constants.h"
#include "ops/pool/reference.h"
#include "ops/quantize/constants.h"
#include "ops/quantize/reference.h"
#include "ops/resize/constants.h"
#include "ops/resize/reference.h"
#include "ops/softmax/constants.h"
#include "ops/softmax/reference.h"

namespace corten {
namespace {

std::mt19937 g_random(7);
int random_int(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(g_random); }
double random_scale(double lo, double hi) {
  return std::exp(std::uniform_real_distribution<double>(std::log(lo), std::log(hi))(g_random));
}
int random_zero() {  // the ends and the middle often
  const int kind = random_int(0, 4);
  return kind == 0 ? -128 : kind == 1 ? 127 : kind == 2 ? 0 : random_int(-128, 127);
}

// Collects results against real values v (in output steps, zero point included).
struct Tally {
  double near = 0;  // how far from a tie a difference is allowed
  long count = 0, different = 0, wrong = 0;
  void add(double v, int got, int lo = -128, int hi = 127) {
    const double want = std::clamp(std::nearbyint(v), double(lo), double(hi));
    count++;
    if (got == int(want)) return;
    different++;
    const double to_tie = std::fabs(v - std::floor(v) - 0.5);
    if (std::abs(got - int(want)) > 1 || to_tie > near) wrong++;
  }
};

}  // namespace

TEST_CASE("scale: nearest multiplier over the whole range") {
  for (int k = 0; k < 20000; k++) {
    const double factor = random_scale(1e-9, 1e9);
    const Scale s = make_scale(factor);
    REQUIRE(scale_ok(s));
    CHECK(std::fabs(std::ldexp(s.mult, -31 - s.shift) / factor - 1) <= std::ldexp(1.0, -31));
  }
  CHECK(make_scale(0).mult == 0);
  CHECK(make_scale(1e30).shift == -30);
  CHECK(make_scale(1e-30).mult == 0);
}

TEST_CASE("add: every pair of operands") {
  Tally t = {1.0 / 4096};
  for (int k = 0; k < 60; k++) {
    const double sa = random_scale(0.001, 1), sign = k % 3 == 2 ? -1 : 1, sb = random_scale(0.2, 5) * sa;
    const double so = std::max(sa, sb) * random_scale(0.3, 3);
    const int za = random_zero(), zb = random_zero(), zo = random_zero();
    const AddParams p = make_add(sa, za, sign * sb, zb, so, zo, -128, 127);
    for (int a = -128; a < 128; a++)
      for (int b = -128; b < 128; b++) t.add((a - za) * sa / so + (b - zb) * sign * sb / so + zo, add_one(p, int8_t(a), int8_t(b)));
  }
  CHECK(t.wrong == 0);
  CHECK(t.different * 1000 < t.count);
  MESSAGE("add: ", t.different, " of ", t.count, " pairs differ by one at a tie");
}

TEST_CASE("add: far apart and extreme scales keep within one step") {
  Tally t = {1};
  for (double ratio : {1e-6, 1e-3, 30.0, 1000.0, 5000.0}) {
    const AddParams p = make_add(0.1, 3, 0.1 * ratio, -4, 0.1, 5, -128, 127);
    for (int a = -128; a < 128; a++)
      for (int b = -128; b < 128; b++) t.add((a - 3) + (b + 4) * ratio + 5, add_one(p, int8_t(a), int8_t(b)));
  }
  CHECK(t.wrong == 0);
}

TEST_CASE("mul: every pair of operands") {
  Tally t = {1e-6};
  for (int k = 0; k < 60; k++) {
    const double sa = random_scale(0.001, 1), sb = random_scale(0.001, 1), so = 255 * sa * sb * random_scale(0.01, 2);
    const int za = random_zero(), zb = random_zero(), zo = random_zero();
    const MulParams p = make_mul(sa, za, sb, zb, so, zo, -128, 127);
    for (int a = -128; a < 128; a++)
      for (int b = -128; b < 128; b++) t.add((a - za) * (b - zb) * sa * sb / so + zo, mul_one(p, int8_t(a), int8_t(b)));
  }
  CHECK(t.wrong == 0);
  CHECK(t.different * 100 < t.count);
}

TEST_CASE("affine: every input, weights of all sizes") {
  Tally t = {1.0 / 4096};
  for (int k = 0; k < 3000; k++) {
    const double si = random_scale(0.001, 1), w = random_scale(0.01, 30) * (k % 2 ? 1 : -1),
                 so = si * std::fabs(w) * random_scale(0.2, 50);
    const int zi = random_zero(), zo = random_zero();
    const double b = so * random_int(-300, 300) * 0.77;
    const AffineChannel c = make_affine(w, b, si, zi, so, zo);
    const AffineParams p = {256, 1, 0, -128, 127, {}};
    int8_t x[256], y[256];
    for (int i = 0; i < 256; i++) x[i] = int8_t(i - 128);
    affine_reference(p, &c, x, y);
    for (int i = 0; i < 256; i++) t.add((x[i] - zi) * si * w / so + b / so + zo, y[i]);
  }
  CHECK(t.wrong == 0);
}

TEST_CASE("lut: rounds as PyTorch does") {
  int8_t table[256];
  make_lut([](double x) { return 1 / (1 + std::exp(-x)); }, 0.05, 3, 1.0 / 256, -128, -128, 127, table);
  CHECK(table[3 + 128] == 0);
  CHECK(table[255] == 127);
  make_lut([](double x) { return std::log(x); }, 1, 0, 0.1, 7, -128, 127, table);
  CHECK(table[0] == 7);       // a NaN: the zero point
  CHECK(table[128] == -128);  // minus infinity
  make_lut([](double x) { return x; }, 0.5, 0, 1, 0, -128, 127, table);
  CHECK(table[128 + 1] == 0);  // ties to even
  CHECK(table[128 + 3] == 2);
}

TEST_CASE("softmax and log_softmax: random rows, any output scale") {
  Tally soft = {1e-3}, log = {1e-3};
  std::vector<uint32_t> table(256);
  for (int k = 0; k < 2000; k++) {
    const uint32_t n = uint32_t(k % 10 == 9 ? random_int(100, 3000) : random_int(1, 40));
    const double si = random_scale(1e-3, 0.5), so = k % 2 ? 1.0 / 256 : random_scale(1e-5, 1), lo = random_scale(0.01, 0.5);
    softmax_table(si, table.data());
    std::vector<int8_t> x(n), y(n);
    const int least = random_int(-128, 100);
    for (int8_t& v : x) v = int8_t(random_int(least, 127));
    double sum = 0;
    for (int8_t v : x) sum += std::exp(v * si);
    softmax_reference(make_softmax(1, n, 1, so, -128, -128, 127), table.data(), x.data(), y.data());
    for (uint32_t i = 0; i < n; i++) soft.add(std::exp(x[i] * si) / sum / so - 128, y[i]);
    softmax_reference(make_log_softmax(1, n, 1, si, lo, 120, -128, 127), table.data(), x.data(), y.data());
    for (uint32_t i = 0; i < n; i++) log.add((x[i] * si - std::log(sum)) / lo + 120, y[i]);
  }
  CHECK(soft.wrong == 0);
  CHECK(log.wrong == 0);
  MESSAGE("softmax: ", soft.different, " of ", soft.count, ", log_softmax: ", log.different, " of ", log.count,
          " differ by one at a tie");
}

namespace {

// PyTorch's average pooling of one axis, from its definition: the window's taps inside the image, and the divisor's share.
struct Window {
  int first, last, divisor;  // [first, last)
};
Window torch_window(int i, int in, int k, int stride, int pad, bool include_pad) {
  int first = i * stride - pad, last = std::min(first + k, in + pad);
  const int padded = last - first;
  first = std::max(first, 0), last = std::min(last, in);
  return {first, last, include_pad ? padded : last - first};
}

int torch_out(int in, int k, int stride, int pad, bool ceil_mode) {
  int out = (in + 2 * pad - k + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (out - 1) * stride >= in + pad) out--;
  return out;
}

}  // namespace

TEST_CASE("average pooling: every flag as PyTorch defines it") {
  Tally t = {1e-5};
  for (int flags = 0; flags < 8; flags++)
    for (int k = 0; k < 20; k++) {
      const bool ceil_mode = flags & 1, include_pad = flags & 2;
      const int h = random_int(3, 9), w = random_int(3, 9), kh = random_int(1, 3), kw = random_int(1, 3), sh = random_int(1, 3);
      const int pad_h = flags & 4 ? kh / 2 : 0, pad_w = flags & 4 ? kw / 2 : 0, sw = random_int(1, 3);
      PoolParams p = {};
      p.n = 1, p.in_h = uint16_t(h), p.in_w = uint16_t(w), p.c = 1, p.k_h = uint16_t(kh), p.k_w = uint16_t(kw);
      p.out_h = uint16_t(torch_out(h, kh, sh, pad_h, ceil_mode)), p.out_w = uint16_t(torch_out(w, kw, sw, pad_w, ceil_mode));
      p.stride_h = uint16_t(sh), p.stride_w = uint16_t(sw), p.dil_h = p.dil_w = 1;
      p.pad_t = p.pad_b = uint16_t(pad_h), p.pad_l = p.pad_r = uint16_t(pad_w);
      p.in_zero = int8_t(random_zero()), p.out_zero = int8_t(random_zero()), p.lo = -128, p.hi = 127;
      const double si = 0.043, so = k % 2 ? 0.043 : 0.0317;
      std::vector<Scale> scales(size_t(kh * kw + 1));
      make_pool_average(p, si, so, include_pad, 0, scales.data());
      std::vector<int8_t> x(size_t(h * w)), y(size_t(p.out_h) * p.out_w);
      for (int8_t& v : x) v = int8_t(random_int(-128, 127));
      pool_reference(p, scales.data(), x.data(), y.data());
      for (int oy = 0; oy < p.out_h; oy++)
        for (int ox = 0; ox < p.out_w; ox++) {
          const Window a = torch_window(oy, h, kh, sh, pad_h, include_pad), b = torch_window(ox, w, kw, sw, pad_w, include_pad);
          int sum = 0;
          for (int i = a.first; i < a.last; i++)
            for (int j = b.first; j < b.last; j++) sum += x[size_t(i * w + j)] - p.in_zero;
          t.add(sum * si / (so * a.divisor * b.divisor) + p.out_zero, y[size_t(oy * p.out_w + ox)]);
        }
    }
  CHECK(t.wrong == 0);
  CHECK(t.count > 1000);
}

TEST_CASE("adaptive windows: PyTorch's bounds") {
  for (int in = 1; in < 40; in++)
    for (int out = 1; out < 45; out++) {
      PoolWalk walk = {{uint16_t(in), uint16_t(out), 0, 1, 0, 0, 1, true}};
      for (int i = 0; i < out; i++) {
        const PoolSpan s = walk.next();
        REQUIRE(s.first == i * in / out);
        REQUIRE(s.first + s.count == ((i + 1) * in + out - 1) / out);
      }
    }
}

TEST_CASE("mean: as many elements as it takes, extreme data") {
  for (uint32_t n : {1u, 7u, 65536u, 1u << 23})
    for (int value : {-128, 127})
      for (int zero : {-128, 127}) {
        MeanParams p;
        const bool reduce = true;
        REQUIRE(make_mean(1, &n, &reduce, 0.1, zero, 0.1, zero, -128, 127, 0, &p));
        std::vector<int8_t> x(n, int8_t(value));
        int8_t y = 0;
        mean_reference(p, x.data(), &y);
        CHECK(y == value);
      }
  const uint32_t many = (1u << 23) + 1;
  const bool reduce = true;
  MeanParams p;
  CHECK(!make_mean(1, &many, &reduce, 1, 0, 1, 0, -128, 127, 0, &p));
}

TEST_CASE("resize: PyTorch's source index at every size") {
  for (uint32_t in = 1; in <= 70; in++)
    for (uint32_t out = 1; out <= 300; out++)
      for (bool exact : {false, true}) {
        const float scale = float(in) / float(out);
        const ResizeAxis axis = make_resize_axis(scale, exact);
        for (uint32_t i = 0; i < out; i++) {
          const float at = exact ? std::fmax(0.0f, std::fma(float(i) + 0.5f, scale, -0.5f)) + 0.5f : float(i) * scale;
          REQUIRE(resize_index(axis, i, in) == std::min(uint32_t(std::floor(at)), in - 1));
        }
      }
}

TEST_CASE("quantize: round half to even, NaN, infinities") {
  for (double scale : {0.1, 1.0, 0.0235, 3e-5}) {
    const QuantizeParams p = make_quantize(1, scale, 3, -128, 127);
    for (int k = -70000; k < 70000; k++) {
      const float x = float(k * scale / 256);
      const float want = std::clamp(std::nearbyintf(x * p.factor) + 3, -128.0f, 127.0f);
      REQUIRE(quantize_one(p, x) == int(want));
    }
    CHECK(quantize_one(p, NAN) == 3);
    CHECK(quantize_one(p, INFINITY) == 127);
    CHECK(quantize_one(p, -INFINITY) == -128);
  }
}

}  // namespace corten
