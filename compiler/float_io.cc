#include "compiler/float_io.h"

#include "ops/op.h"

namespace corten {

namespace {

Node border(const Op& op, const Value& value, ValueId from, ValueId to) {
  Node n;
  n.op = op.name, n.name = value.name + "." + n.op;
  n.in = {from}, n.out = {to};
  n.attrs["scale"] = value.quant->scale[0];
  n.attrs["zero"] = int64_t(value.quant->zero[0]);
  n.attrs["lo"] = int64_t(value.quant->lo), n.attrs["hi"] = int64_t(value.quant->hi);
  return n;
}

}  // namespace

void float_io(Graph& g) {
  const Op& quantise = operator_that([](const Op& op) { return op.as_quantise != nullptr; });
  const Op& dequantise = operator_that([](const Op& op) { return op.as_dequantise != nullptr; });
  std::vector<Node> first, last;
  for (ValueId& v : g.inputs) {
    const ValueId outside = g.add_value(g[v].name, DType::f32, g[v].shape);
    g[v].name += ".int8";
    Node n = border(quantise, g[v], outside, v);
    n.name = g[outside].name + ".quantize";
    first.push_back(std::move(n));
    v = outside;
  }
  for (ValueId& v : g.outputs) {
    const ValueId outside = g.add_value(g[v].name + ".float", DType::f32, g[v].shape);
    Node n = border(dequantise, g[v], v, outside);
    n.name += std::to_string(last.size());
    last.push_back(std::move(n));
    v = outside;
  }
  g.nodes.insert(g.nodes.begin(), first.begin(), first.end());
  g.nodes.insert(g.nodes.end(), last.begin(), last.end());
}

}  // namespace corten
