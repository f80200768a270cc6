// A small plan made by hand, without any pass: conv2d 3x3 (1, 3, 6, 6) -> (1, 8, 6, 6), linear 288 -> 10.
#pragma once
#include <stddef.h>

#include "compiler/planned.h"
#include "ops/conv2d/pack.h"
#include "ops/conv2d/reference.h"
#include "ops/linear/pack.h"
#include "ops/linear/reference.h"

namespace corten::test {

struct TinyPlan {
  ConvParams conv = {};
  LinearParams linear = {};
  std::vector<int8_t> conv_weights, linear_weights;
  std::vector<int32_t> conv_table, linear_table;  // bias, mult, shift
  Planned plan;
  uint32_t seed = 7;

  int32_t random_in(int32_t lo, int32_t hi) {
    seed = seed * 1664525u + 1013904223u;
    return lo + int32_t(uint64_t(seed) * uint32_t(hi - lo + 1) >> 32);
  }

  explicit TinyPlan(Tier tier = Tier::scalar, std::string target = "cortex-m0plus") {
    conv.n = 1, conv.in_h = conv.in_w = conv.out_h = conv.out_w = 6, conv.in_c = 3, conv.out_c = 8, conv.groups = 1;
    conv.k_h = conv.k_w = 3, conv.stride_h = conv.stride_w = conv.dil_h = conv.dil_w = 1, conv.pad_t = conv.pad_l = 1;
    conv.in_zero = 4, conv.out_zero = -128, conv.lo = -128, conv.hi = 127;
    linear.rows = 1, linear.in = 288, linear.out = 10, linear.in_zero = -128, linear.out_zero = 3, linear.lo = -128,
    linear.hi = 127;
    fill(conv_weights, conv_table, 8, 27, conv.in_zero, 8);
    fill(linear_weights, linear_table, 10, 288, linear.in_zero, 10);

    conv.weights_bytes = conv_plain.weights_bytes(conv), conv.tables_bytes = conv_plain.tables_bytes(conv);
    Blob cw{std::vector<uint8_t>(conv.weights_bytes), offsetof(ConvParams, weights)};
    Blob ct{std::vector<uint8_t>(conv.tables_bytes), offsetof(ConvParams, tables)};
    conv_plain.pack(conv, conv_source(), cw.bytes.data(), ct.bytes.data());
    linear.weights_bytes = linear_plain.weights_bytes(linear), linear.tables_bytes = linear_plain.tables_bytes(linear);
    Blob lw{std::vector<uint8_t>(linear.weights_bytes), offsetof(LinearParams, weights)};
    Blob lt{std::vector<uint8_t>(linear.tables_bytes), offsetof(LinearParams, tables)};
    linear_plain.pack(linear, linear_source(), lw.bytes.data(), lt.bytes.data());

    plan.name = "tiny", plan.target = target, plan.tier = tier, plan.arena_bytes = 400 + 16;
    // in at 0 (108 bytes), the convolution's output at 112 (288), the linear's at 0 again
    const Place in{false, 0, 108}, middle{false, 112, 288}, out{false, 400, 10};
    plan.steps = {step("conv", "conv2d_s8_scalar", bytes_of(conv), {cw, ct}, {in, middle}),
                  step("fc", "linear_s8_scalar", bytes_of(linear), {lw, lt}, {middle, out})};
    plan.inputs = {{"x", DType::i8, {1, 3, 6, 6}, {0, 2, 3, 1}, 0.05, 4, in}};
    plan.outputs = {{"y", DType::i8, {1, 10}, {0, 1}, 0.25, 3, out}};
  }

  ConvSource conv_source() const { return {conv_weights.data(), conv_table.data(), conv_table.data() + 8, conv_table.data() + 16}; }
  LinearSource linear_source() const {
    return {linear_weights.data(), linear_table.data(), linear_table.data() + 10, linear_table.data() + 20};
  }
  std::vector<uint8_t> input(uint32_t from) {
    seed = from;
    std::vector<uint8_t> x(108);
    for (uint8_t& v : x) v = uint8_t(random_in(-128, 127));
    return x;
  }
  std::vector<uint8_t> reference(const std::vector<uint8_t>& x) const {
    std::vector<int8_t> middle(288), y(10);
    conv2d_reference(conv, conv_source(), reinterpret_cast<const int8_t*>(x.data()), middle.data());
    linear_reference(linear, linear_source(), middle.data(), y.data());
    return {y.begin(), y.end()};
  }

 private:
  template <class T>
  static std::vector<uint8_t> bytes_of(const T& v) {
    const uint8_t* p = reinterpret_cast<const uint8_t*>(&v);
    return {p, p + sizeof v};
  }
  static PlannedStep step(std::string node, std::string_view kernel, std::vector<uint8_t> params, std::vector<Blob> blobs,
                          std::vector<Place> operands) {
    PlannedStep s;
    s.node = std::move(node);
    s.lowered.kernel = kernel, s.lowered.params = std::move(params), s.lowered.blobs = std::move(blobs);
    s.operands = std::move(operands);
    return s;
  }
  void fill(std::vector<int8_t>& weights, std::vector<int32_t>& table, int out, int taps, int in_zero, int shift) {
    weights.resize(size_t(out * taps)), table.resize(size_t(out) * 3);
    for (int8_t& w : weights) w = int8_t(random_in(-127, 127));
    for (int o = 0; o < out; o++) {
      int32_t sum = 0;
      for (int k = 0; k < taps; k++) sum += weights[size_t(o * taps + k)];
      table[size_t(o)] = random_in(-3000, 3000) - in_zero * sum;
      table[size_t(out + o)] = random_in(1 << 30, 0x7fffffff), table[size_t(2 * out + o)] = shift;
    }
  }
};

}  // namespace corten::test
