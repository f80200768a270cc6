// quantize: a scale for every value. Given ones are kept; others come from what calibration saw, with values that must share a
// scale (data movement, pooling by maximum, concatenation) taken together.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "compiler/calibrate.h"
#include "compiler/evaluate.h"
#include "compiler/passes.h"
#include "compiler/requantise.h"
#include "ops/op.h"

namespace corten {

namespace {

struct Groups {
  std::vector<ValueId> parent;
  explicit Groups(size_t n) : parent(n) { std::iota(parent.begin(), parent.end(), 0); }
  ValueId root(ValueId v) {
    while (parent[size_t(v)] != v) v = parent[size_t(v)] = parent[size_t(parent[size_t(v)])];
    return v;
  }
  void join(ValueId a, ValueId b) {
    a = root(a), b = root(b);
    parent[size_t(std::max(a, b))] = std::min(a, b);
  }
};

// Asymmetric 8-bit parameters of a range, zero exactly representable.
Quant quant_of_range(double lo, double hi) {
  lo = std::min(lo, 0.0), hi = std::max(hi, 0.0);
  if (hi - lo < 1e-30) hi = lo + 1.0;  // a value that is always zero
  Quant q;
  const double scale = (hi - lo) / 255;
  q.scale = {double(float(scale))};  // as the device header states it
  q.zero = {int32_t(std::clamp(std::nearbyint(-128 - lo / q.scale[0]), -128.0, 127.0))};
  return q;
}

// Operands that must share one scale with the output.
std::vector<ValueId> sharing(const Op& op, const Node& n) {
  if (op.quant == QuantRule::same) return {n.in[0]};
  if (op.quant == QuantRule::shared) return n.in;
  return {};
}

Range constant_range(const Graph& g, ValueId v) {
  const std::vector<float> f = constant_floats(g, v);
  Range r;
  if (f.empty()) return r;
  const auto [lo, hi] = std::minmax_element(f.begin(), f.end());
  r.lo = *lo, r.hi = *hi, r.seen = true;
  return r;
}

void widen(double& lo, double& hi, const Range& r, Observer observer) {
  double l = r.lo, h = r.hi;
  if (observer == Observer::mse && !r.histogram.empty()) best_range(r, l, h);
  lo = std::min(lo, l), hi = std::max(hi, h);
}

struct Chooser {
  Graph& g;
  const Calibration* calibration;
  Observer observer;
  Groups groups;
  std::map<ValueId, Quant> chosen;  // by root
  std::map<ValueId, std::vector<ValueId>> members;

  Chooser(Graph& graph, const Calibration* c, Observer o) : g(graph), calibration(c), observer(o), groups(graph.values.size()) {}

  void gather() {
    for (const Node& n : g.nodes)
      for (ValueId v : sharing(op_of(n), n))
        if (v != kNone) groups.join(v, n.out[0]);
    const auto add = [&](ValueId v) {
      if (v == kNone) return;
      auto& m = members[groups.root(v)];
      if (std::find(m.begin(), m.end(), v) == m.end()) m.push_back(v);
    };
    for (ValueId v : g.inputs) add(v);
    for (const Node& n : g.nodes) {
      for (ValueId v : n.out) add(v);
      for (ValueId v : sharing(op_of(n), n)) add(v);
    }
  }

  void choose() {
    for (const auto& [root, values] : members)
      for (ValueId v : values)
        if (g[v].quant && !g.is_constant(v) && !chosen.contains(root)) chosen[root] = *g[v].quant;
    for (const Node& n : g.nodes) {
      const ValueId root = groups.root(n.out[0]);
      const Op& op = op_of(n);
      if (!op.fixed_quant || chosen.contains(root)) continue;
      if (const auto q = op.fixed_quant(n); q && alone(root, n.out[0])) chosen[root] = *q;
    }
    for (const auto& [root, values] : members)
      if (!chosen.contains(root)) chosen[root] = from_ranges(values);
  }

  // Is this the only value of its group that is computed, not moved?
  bool alone(ValueId root, ValueId value) {
    for (ValueId v : members[root]) {
      if (v == value) continue;
      const int p = g.producer(v);
      if (p < 0 || sharing(op_of(g.nodes[size_t(p)]), g.nodes[size_t(p)]).empty()) return false;
    }
    return true;
  }

  Quant from_ranges(const std::vector<ValueId>& values) {
    double lo = 0, hi = 0;
    for (ValueId v : values) {
      if (g.is_constant(v)) {
        widen(lo, hi, constant_range(g, v), observer);
        continue;
      }
      if (!calibration || !calibration->ranges[size_t(v)].seen) missing(v);
      widen(lo, hi, calibration->ranges[size_t(v)], observer);
    }
    return quant_of_range(lo, hi);
  }

  [[noreturn]] void missing(ValueId v) {
    const std::string what = "no scale for value '" + g[v].name + "': the program gives none and there is no calibration data";
    const std::string help =
        "give representative inputs with --calibrate DATA.npz (in0, in1, ... with samples along the first axis)";
    const int p = g.producer(v);
    if (p >= 0) fail(g, g.nodes[size_t(p)], Code::no_calibration, what, help);
    Diag d(Code::no_calibration, what, help);
    d.subject = g.source;
    throw Error(d);
  }
};

// The first node that gives NaN or infinity on the calibration data is the one to look at.
void refuse_nonfinite(const Graph& g, const Calibration& calibration) {
  for (const Node& n : g.nodes)
    for (ValueId v : n.out)
      if (!calibration.ranges[size_t(v)].finite)
        fail(g, n, Code::nonfinite_value, "value '" + g[v].name + "' becomes infinite or NaN on the calibration data",
             "look for a division by zero, a logarithm or root of a negative number or an overflow in this line");
}

// Where a node needs one scale on both sides and the program gives two, the other side is requantised.
void bridge(Graph& g) {
  for (size_t i = 0; i < g.nodes.size(); i++) {
    const Op& op = op_of(g.nodes[i]);
    if (op.quant == QuantRule::observed) continue;
    const ValueId out = g.nodes[i].out[0];
    const Quant out_quant = *g[out].quant;
    const ValueId in = g.nodes[i].in.empty() ? kNone : g.nodes[i].in[0];
    if (op.quant == QuantRule::same && in != kNone && !g.is_constant(in) && *g[in].quant != out_quant) {
      // On the smaller side; before the node where that is all the same, so that a pad's value is rounded to the output's scale.
      const bool before = elements(g[in].shape) <= elements(g[out].shape);
      const ValueId model = before ? in : out;
      const ValueId made = g.add_value(g[model].name + ".moved" + std::to_string(i), g[model].dtype, g[model].shape);
      g[made].quant = before ? out_quant : *g[in].quant;
      Node r = before ? requantise_node(g.nodes[i], in, made) : requantise_node(g.nodes[i], made, out);
      (before ? g.nodes[i].in[0] : g.nodes[i].out[0]) = made;
      g.nodes.insert(g.nodes.begin() + std::ptrdiff_t(i) + !before, std::move(r));
      i++;
      continue;
    }
    if (op.quant != QuantRule::shared) continue;
    for (size_t k = 0; k < g.nodes[i].in.size(); k++) {
      const ValueId v = g.nodes[i].in[k];
      if (v == kNone || g.is_constant(v) || *g[v].quant == out_quant) continue;
      const ValueId scaled =
          g.add_value(g[v].name + ".scaled" + std::to_string(i) + "_" + std::to_string(k), g[v].dtype, g[v].shape);
      g[scaled].quant = out_quant;
      Node r = requantise_node(g.nodes[i], v, scaled);
      r.name += std::to_string(k);
      g.nodes[i].in[k] = scaled;
      g.nodes.insert(g.nodes.begin() + std::ptrdiff_t(i), std::move(r));
      i++;
    }
  }
}

// A float constant operand as int8 per tensor, under `quant` or over its own range.
ValueId quantised_constant(Graph& g, ValueId v, const Quant* quant) {
  const std::vector<float> f = constant_floats(g, v);
  Range r = constant_range(g, v);
  const Quant q = quant ? *quant : quant_of_range(r.lo, r.hi);
  auto t = make_tensor(DType::i8, g[v].shape);
  for (size_t i = 0; i < f.size(); i++) t->as<int8_t>()[i] = int8_t(quantise_value(f[i], q));
  const ValueId c = g.add_constant(g[v].name + ".int8", t);
  g[c].quant = q;
  return c;
}

}  // namespace

std::vector<Diag> kept_float(const Graph& g) {
  std::vector<Diag> warnings;
  for (const Node& n : g.nodes) {
    const bool weighted = op_of(n).quantise_constants && n.in.size() > 1 && g.is_constant(n.in[1]);
    if (!weighted || g[n.in[1]].quant) continue;
    warnings.push_back(
        located(g, n, Code::kept_float, "PyTorch keeps this layer in float32; the core runs it in int8",
                "quantise it in PyTorch too, so that accuracy is measured as it will be; there are no float kernels"));
    warnings.back().severity = Severity::warning;
  }
  return warnings;
}

void quantize(Graph& g, const Calibration* calibration, Observer observer) {
  if (calibration) {
    refuse_nonfinite(g, *calibration);
    for (size_t v = 0; v < calibration->ranges.size(); v++) g.values[v].mean = calibration->ranges[v].channel_mean;
  }
  Chooser chooser(g, calibration, observer);
  chooser.gather();
  chooser.choose();
  for (const auto& [root, values] : chooser.members)
    for (ValueId v : values)
      if (!g[v].quant && !g.is_constant(v)) g[v].quant = chooser.chosen[root];
  bridge(g);
  for (size_t i = 0; i < g.nodes.size(); i++) {
    Node& n = g.nodes[i];
    const Op& op = op_of(n);
    if (op.quantise_constants) op.quantise_constants(g, n);
    const bool shared = !sharing(op, n).empty();
    const Quant out_quant = *g[n.out[0]].quant;
    for (ValueId& v : n.in)
      if (g.is_constant(v) &&
          ((g[v].data->dtype != DType::i8 && g[v].data->dtype != DType::i32) || (shared && *g[v].quant != out_quant)))
        v = quantised_constant(g, v, shared ? &out_quant : nullptr);
    for (ValueId v : n.out) g[v].dtype = DType::i8;
  }
  for (ValueId v : g.inputs) g[v].dtype = DType::i8;
}

}  // namespace corten
