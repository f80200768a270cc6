// Output channels that are constant, and leaving channels out, for operators with one row of weights per output channel.
#include <algorithm>

#include "ops/weights.h"
#include "runtime/fixed.h"

namespace corten {

namespace {

struct Rows {
  int64_t out, per_group, taps;  // weights are (out, per_group, taps)
};
Rows rows_of(const Graph& g, const Node& n) {
  const Shape& w = g[n.in[1]].shape;
  return {w[0], w[1], elements(w) / (w[0] * w[1])};
}

// A constant with other bytes, under its old scale where that is per tensor, else with `scales`.
ValueId replaced(Graph& g, ValueId old, const std::string& name, std::shared_ptr<const Tensor> t, std::optional<Quant> quant) {
  const ValueId v = g.add_constant(g[old].name + name, std::move(t));
  g[v].quant = std::move(quant);
  return v;
}

std::optional<Quant> kept_scales(const std::optional<Quant>& q, const std::vector<int>& keep) {
  if (!q || q->axis < 0) return q;
  Quant k = *q;
  k.scale.clear(), k.zero.clear();
  for (int c : keep) k.scale.push_back(q->scale[size_t(c)]), k.zero.push_back(q->zero[size_t(c)]);
  return k;
}

}  // namespace

ChannelBounds weight_bounds(const Graph& g, const Node& n, const ChannelBounds* in, DenseShape shape) {
  const Rows r = rows_of(g, n);
  const WeightTables t = weight_tables(g, n, r.per_group * r.taps);
  ChannelBounds out(static_cast<size_t>(r.out));
  for (int64_t o = 0; o < r.out; o++) {
    int64_t low = t.bias[size_t(o)], high = low;  // the bias already holds -zero * sum
    for (int64_t c = 0; c < r.per_group; c++) {
      Interval x = in ? (*in)[size_t(o / (r.out / shape.groups) * r.per_group + c)] : Interval{};
      if (shape.padded) x.lo = std::min(x.lo, t.in_zero), x.hi = std::max(x.hi, t.in_zero);
      for (int64_t k = 0; k < r.taps; k++) {
        const int64_t w = t.weights[size_t((o * r.per_group + c) * r.taps + k)];
        low += w >= 0 ? w * x.lo : w * x.hi, high += w >= 0 ? w * x.hi : w * x.lo;
      }
    }
    const auto output = [&](int64_t acc) {
      return to_int8(requantise(int32_t(acc), t.mult[size_t(o)], t.shift[size_t(o)]), t.out_zero, t.lo, t.hi);
    };
    out[size_t(o)] = {output(low), output(high)};
  }
  return out;
}

void keep_weight_outputs(Graph& g, Node& n, const std::vector<int>& keep) {
  const Rows r = rows_of(g, n);
  const Tensor &w = *g[n.in[1]].data, &b = *g[n.in[2]].data;
  const int64_t row = r.per_group * r.taps;
  Shape shape = w.shape;
  shape[0] = int64_t(keep.size());
  auto weights = make_tensor(DType::i8, shape);
  auto bias = make_tensor(DType::i32, {shape[0]});
  for (size_t i = 0; i < keep.size(); i++) {
    std::copy_n(w.as<int8_t>() + keep[i] * row, row, weights->as<int8_t>() + int64_t(i) * row);
    bias->as<int32_t>()[i] = b.as<int32_t>()[keep[i]];
  }
  n.in[1] = replaced(g, n.in[1], ".kept." + n.name, weights, kept_scales(g[n.in[1]].quant, keep));
  n.in[2] = replaced(g, n.in[2], ".kept", bias, kept_scales(g[n.in[2]].quant, keep));
}

void fold_weight_inputs(Graph& g, Node& n, const std::vector<int>& keep, const std::vector<int>& values) {
  const Rows r = rows_of(g, n);
  const Tensor &w = *g[n.in[1]].data, &b = *g[n.in[2]].data;
  const int32_t zero = quant_of(g, n.in[0], n).zero[0];
  Shape shape = w.shape;
  shape[1] = int64_t(keep.size());
  auto weights = make_tensor(DType::i8, shape);
  auto bias = std::make_shared<Tensor>(b);
  std::vector<char> kept(size_t(r.per_group), 0);
  for (int c : keep) kept[size_t(c)] = 1;
  for (int64_t o = 0; o < r.out; o++) {
    const int8_t* from = w.as<int8_t>() + o * r.per_group * r.taps;
    int8_t* to = weights->as<int8_t>() + o * shape[1] * r.taps;
    for (int c : keep) to = std::copy_n(from + c * r.taps, r.taps, to);
    int64_t part = 0;
    for (int64_t c = 0; c < r.per_group; c++)
      for (int64_t k = 0; k < r.taps && !kept[size_t(c)]; k++) part += int64_t(from[c * r.taps + k]) * (values[size_t(c)] - zero);
    bias->as<int32_t>()[o] = int32_t(bias->as<int32_t>()[o] + part);
  }
  const auto wq = g[n.in[1]].quant, bq = g[n.in[2]].quant;
  n.in[1] = replaced(g, n.in[1], ".folded." + n.name, weights, wq);
  n.in[2] = replaced(g, n.in[2], ".folded", bias, bq);
}

}  // namespace corten
