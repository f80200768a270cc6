#include "ops/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/scale.h"

namespace corten {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMaxBias = 1 << 29;

std::vector<double> channel_scales(const Quant& q, int64_t channels) {
  return q.axis < 0 ? std::vector<double>(size_t(channels), q.scale[0]) : q.scale;
}

// Real bias per channel, whatever form it has; zeros if none.
std::vector<double> real_bias(const Graph& g, const Node& n, int64_t channels, const std::vector<double>& accumulator_scale) {
  std::vector<double> b(size_t(channels), 0.0);
  if (n.in.size() < 3 || n.in[2] == kNone) return b;
  const Value& v = g[n.in[2]];
  for (int64_t o = 0; o < channels; o++) {
    if (v.data->dtype == DType::f32) {
      b[size_t(o)] = v.data->as<float>()[o];
    } else if (v.data->dtype == DType::i32 || v.data->dtype == DType::i8) {
      const double q = v.data->dtype == DType::i32 ? v.data->as<int32_t>()[o] : v.data->as<int8_t>()[o];
      const size_t c = !v.quant || v.quant->axis < 0 ? 0 : size_t(o);
      b[size_t(o)] = v.quant ? (q - v.quant->zero[c]) * v.quant->scale[c] : q * accumulator_scale[size_t(o)];
    } else {
      fail(g, n, Code::unsupported_dtype, "bias '" + v.name + "' has type " + std::string(to_text(v.data->dtype)),
           "use a float32 or an int32 bias");
    }
  }
  return b;
}

}  // namespace

bool has_clamp(const Node& n) { return n.has("clamp_lo") || n.has("clamp_hi"); }

Clamp clamp_of(const Node& n) { return {n.real("clamp_lo", -kInfinity), n.real("clamp_hi", kInfinity)}; }

bool intersect_clamp(Node& n, Clamp c) {
  const Clamp old = clamp_of(n);
  const double lo = std::clamp(c.lo, old.lo, old.hi),
               hi = std::clamp(c.hi, old.lo, old.hi);  // the later clamp acts on clamped values
  if (std::isfinite(lo)) n.attrs["clamp_lo"] = lo;
  if (std::isfinite(hi)) n.attrs["clamp_hi"] = hi;
  return true;
}

bool scale_outputs(Graph& g, Node& n, const Affine& a) {
  const Value w = g[n.in[1]];
  if (!w.data || w.data->dtype != DType::f32) return false;
  const int64_t channels = w.shape[0], taps = elements(w.shape) / channels;
  if (int64_t(a.scale.size()) != channels) return false;
  const bool biased = n.in.size() > 2 && n.in[2] != kNone;
  if (biased && (!g.is_constant(n.in[2]) || g[n.in[2]].data->dtype != DType::f32)) return false;
  auto weights = std::make_shared<Tensor>(*w.data);
  auto bias = make_tensor(DType::f32, {channels});
  for (int64_t o = 0; o < channels; o++) {
    for (int64_t k = 0; k < taps; k++) weights->as<float>()[o * taps + k] *= a.scale[size_t(o)];
    const float b = biased ? g[n.in[2]].data->as<float>()[o] : 0.0f;
    bias->as<float>()[o] = b * a.scale[size_t(o)] + a.shift[size_t(o)];
  }
  n.in[1] = g.add_constant(w.name + "." + n.name, weights);
  n.in.resize(3, kNone);
  n.in[2] = g.add_constant(n.name + ".bias", bias);
  return true;
}

namespace {

// What rounding the weights of channel o changes in its output's mean, over the calibration data (bias correction; Nagel et al.
// 2019, "Data-free quantization through weight equalization and bias correction"). Borders count as interior.
double mean_error(const float* real, const int8_t* rounded, double scale, int64_t per_group, int64_t taps, const float* mean) {
  double sum = 0;
  for (int64_t c = 0; c < per_group; c++)
    for (int64_t k = 0; k < taps; k++) sum += (rounded[c * taps + k] * scale - real[c * taps + k]) * mean[c];
  return sum;
}

}  // namespace

void quantise_weights(Graph& g, Node& n) {
  const double in_scale = quant_of(g, n.in[0], n).scale[0];
  const Value w = g[n.in[1]];
  const int64_t channels = w.shape[0], taps = elements(w.shape) / channels;
  Quant q;
  q.axis = 0, q.lo = -127;
  auto weights = make_tensor(DType::i8, w.shape);
  std::vector<double> scales(size_t(channels), 1.0);
  const bool given = w.quant.has_value();
  if (given) {
    for (int32_t z : w.quant->zero)
      if (z != 0)
        fail(g, n, Code::bad_scales, "weight '" + w.name + "' has zero point " + std::to_string(z),
             "quantise weights symmetrically");
    if (w.data->dtype != DType::i8 || (w.quant->axis > 0 && w.quant->scale.size() > 1))
      fail(g, n, Code::bad_scales, "weight '" + w.name + "' is not int8 with one scale per tensor or per output channel",
           "quantise weights as int8 along axis 0");
    *weights = *w.data;
    scales = channel_scales(*w.quant, channels);
  }
  std::vector<double> bias = real_bias(g, n, channels, [&] {
    std::vector<double> s = scales;
    for (double& v : s) v *= in_scale;
    return s;
  }());
  for (int64_t o = 0; o < channels; o++) {
    const double least = std::abs(bias[size_t(o)]) / (in_scale * kMaxBias);
    int8_t* to = weights->as<int8_t>() + o * taps;
    if (given) {  // only a channel of next to no weight has a bias that large: coarser weights change nothing that shows
      if (scales[size_t(o)] >= least) continue;
      const double ratio = scales[size_t(o)] / least;
      for (int64_t k = 0; k < taps; k++) to[k] = int8_t(std::nearbyint(to[k] * ratio));
      scales[size_t(o)] = least;
      continue;
    }
    const float* from = w.data->as<float>() + o * taps;
    double most = 0;
    for (int64_t k = 0; k < taps; k++) most = std::max(most, std::abs(double(from[k])));
    const double scale = std::max(most / 127, least);
    scales[size_t(o)] = scale > 0 ? scale : 1.0;
    for (int64_t k = 0; k < taps; k++) to[k] = int8_t(std::clamp(std::nearbyint(from[k] / scales[size_t(o)]), -127.0, 127.0));
    const std::vector<float>& mean = g[n.in[0]].mean;
    const int64_t per_group = w.shape[1], groups = int64_t(mean.size()) / per_group;
    if (mean.empty() || groups * per_group != int64_t(mean.size())) continue;
    const float* of_group = mean.data() + o / (channels / groups) * per_group;
    bias[size_t(o)] -= mean_error(from, to, scales[size_t(o)], per_group, taps / per_group, of_group);
  }
  q.scale = scales, q.zero.assign(size_t(channels), 0);
  auto integers = make_tensor(DType::i32, {channels});
  Quant bias_quant = q;
  for (int64_t o = 0; o < channels; o++) {
    bias_quant.scale[size_t(o)] = scales[size_t(o)] * in_scale;
    integers->as<int32_t>()[o] = int32_t(std::nearbyint(bias[size_t(o)] / bias_quant.scale[size_t(o)]));
  }
  n.in[1] = g.add_constant(w.name + ".int8." + n.name, weights);
  g[n.in[1]].quant = q;
  n.in.resize(3, kNone);
  n.in[2] = g.add_constant(n.name + ".bias.int32", integers);
  bias_quant.lo = INT32_MIN, bias_quant.hi = INT32_MAX;
  g[n.in[2]].quant = bias_quant;
}

WeightTables weight_tables(const Graph& g, const Node& n, int64_t taps) {
  const Quant &in = quant_of(g, n.in[0], n), &out = quant_of(g, n.out[0], n), &wq = quant_of(g, n.in[1], n);
  const Tensor& w = *g[n.in[1]].data;
  const int64_t channels = w.shape[0];
  WeightTables t = {};
  t.in_zero = in.zero[0], t.out_zero = out.zero[0];
  quantised_clamp(out, clamp_of(n), t.lo, t.hi);
  t.weights.assign(w.as<int8_t>(), w.as<int8_t>() + channels * taps);
  t.shifts_positive = t.per_tensor = true;
  int64_t most = 0;
  const int32_t* bias = g[n.in[2]].data->as<int32_t>();
  for (int64_t o = 0; o < channels; o++) {
    int64_t sum = 0, up = 0, down = 0;  // of the weights; the accumulator's reach on either side
    for (int64_t k = 0; k < taps; k++) {
      const int64_t v = t.weights[size_t(o * taps + k)];
      sum += v;
      up += v > 0 ? v * 127 : v * -128, down += v > 0 ? v * -128 : v * 127;
    }
    const int64_t folded = bias[o] - t.in_zero * sum;
    const int64_t reach =
        std::max({std::abs(folded), std::abs(folded + up), std::abs(folded + down), std::abs(folded) + std::max(up, -down)});
    if (reach > INT32_MAX)
      fail(g, n, Code::too_large,
           "output channel " + std::to_string(o) + " can overflow the 32-bit accumulator (up to " + std::to_string(reach) + ")",
           "split the layer, or keep its bias and weights in proportion");
    most = std::max(most, reach);
    const Scale m = make_scale(in.scale[0] * wq.scale[wq.axis < 0 ? 0 : size_t(o)] / out.scale[0]);
    t.bias.push_back(int32_t(folded)), t.mult.push_back(m.mult), t.shift.push_back(m.shift);
    t.shifts_positive = t.shifts_positive && m.shift >= 1;
    t.per_tensor = t.per_tensor && m.mult == t.mult[0] && m.shift == t.shift[0];
  }
  t.acc30 = most < (int64_t(1) << 30);
  return t;
}

std::string largest_factor(const WeightTables& t) {
  double largest = 0;
  for (size_t o = 0; o < t.mult.size(); o++) largest = std::max(largest, factor_of(t.mult[o], t.shift[o]));
  return short_text(largest);
}

}  // namespace corten
