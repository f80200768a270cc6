#include "compiler/evaluate.h"

#include <algorithm>
#include <cstring>

#include "ops/op.h"

namespace corten {

std::vector<float> constant_floats(const Graph& g, ValueId v) {
  const Value& value = g[v];
  const Tensor& t = *value.data;
  const int64_t n = elements(t.shape);
  std::vector<float> out(static_cast<size_t>(n));
  const auto copy = [&](const auto* from) {
    for (int64_t i = 0; i < n; i++) out[size_t(i)] = float(from[i]);
  };
  switch (t.dtype) {
    case DType::f32:
      copy(t.as<float>());
      break;
    case DType::f64:
      copy(t.as<double>());
      break;
    case DType::i8:
      copy(t.as<int8_t>());
      break;
    case DType::u8:
    case DType::b8:
      copy(t.as<uint8_t>());
      break;
    case DType::i16:
      copy(t.as<int16_t>());
      break;
    case DType::i32:
      copy(t.as<int32_t>());
      break;
    case DType::i64:
      copy(t.as<int64_t>());
      break;
    default:
      throw Error(Code::unsupported_dtype,
                  "constant '" + value.name + "' has type " + std::string(to_text(t.dtype)) + ", which is not supported");
  }
  if (!value.quant || t.dtype == DType::f32) return out;
  const Quant& q = *value.quant;
  int64_t inner = 1, extent = 1;
  if (q.axis >= 0) {
    extent = t.shape[size_t(q.axis)];
    for (size_t d = size_t(q.axis) + 1; d < t.shape.size(); d++) inner *= t.shape[d];
  }
  for (int64_t i = 0; i < n; i++) {
    const size_t c = q.axis < 0 ? 0 : size_t(i / inner % extent);
    out[size_t(i)] = float((double(out[size_t(i)]) - q.zero[c]) * q.scale[c]);
  }
  return out;
}

std::shared_ptr<Tensor> evaluate_constant(const Graph& g, const Node& n) {
  std::vector<std::vector<float>> in;
  for (ValueId v : n.in) in.push_back(v == kNone ? std::vector<float>{} : constant_floats(g, v));
  std::vector<const float*> in_pointers;
  for (size_t i = 0; i < n.in.size(); i++) in_pointers.push_back(n.in[i] == kNone ? nullptr : in[i].data());
  auto out = make_tensor(DType::f32, g[n.out[0]].shape);
  float* out_pointer = out->as<float>();
  op_of(n).eval({g, n, in_pointers, std::span<float* const>(&out_pointer, 1)});
  return out;
}

void round_to(const Quant& q, std::vector<float>& values) {
  // Below 2^22, adding this leaves no fraction: the sum was rounded half to even.
  constexpr float kRound = 0x1.8p23f;
  const float inverse = float(1.0 / q.scale[0]), scale = float(q.scale[0]);
  const float lo = float(q.lo - q.zero[0]), hi = float(q.hi - q.zero[0]);
  for (float& v : values) v = (std::min(std::max(v * inverse, lo), hi) + kRound - kRound) * scale;
}

Evaluator::Evaluator(const Graph& g, bool rounding) : g_(g), rounding_(rounding), buffers_(g.values.size()) {
  std::vector<char> used(g.values.size(), 0);
  for (ValueId v : g.inputs) used[size_t(v)] = 1;
  for (ValueId v : g.outputs) used[size_t(v)] = 1;
  for (const Node& n : g.nodes) {
    for (ValueId v : n.in)
      if (v != kNone) used[size_t(v)] = 1;
    for (ValueId v : n.out) used[size_t(v)] = 1;
  }
  for (size_t v = 0; v < g.values.size(); v++) {
    if (!used[v]) continue;
    if (g.values[v].data)
      buffers_[v] = constant_floats(g, ValueId(v));
    else
      buffers_[v].resize(size_t(elements(g.values[v].shape)));
  }
}

void Evaluator::round(ValueId v) {
  if (rounding_ && g_[v].quant) round_to(*g_[v].quant, buffers_[size_t(v)]);
}

void Evaluator::run_node(const Node& n) {
  std::vector<const float*> in;
  std::vector<float*> out;
  for (ValueId v : n.in) in.push_back(v == kNone ? nullptr : buffers_[size_t(v)].data());
  for (ValueId v : n.out) out.push_back(buffers_[size_t(v)].data());
  op_of(n).eval({g_, n, in, out});
  for (ValueId v : n.out) round(v);
}

void Evaluator::run(const std::vector<const float*>& inputs, const std::function<void(ValueId, const float*, int64_t)>& seen) {
  const auto report = [&](ValueId v) {
    if (seen) seen(v, buffers_[size_t(v)].data(), int64_t(buffers_[size_t(v)].size()));
  };
  for (size_t i = 0; i < g_.inputs.size(); i++) {
    std::vector<float>& b = buffers_[size_t(g_.inputs[i])];
    memcpy(b.data(), inputs[i], b.size() * sizeof(float));
    round(g_.inputs[i]);
    report(g_.inputs[i]);
  }
  for (const Node& n : g_.nodes) {
    run_node(n);
    for (ValueId v : n.out) report(v);
  }
}

void Evaluator::run_from(size_t first) {
  for (size_t i = first; i < g_.nodes.size(); i++) run_node(g_.nodes[i]);
}

}  // namespace corten
