#include "compiler/annotate.h"

#include "compiler/requantise.h"
#include "ops/op.h"

namespace corten {

namespace {

// v -> quantise -> q -> dequantise -> r: v carries the scale and stands for r. Where v already has another scale, r stays, made
// from v by a requantisation.
void collapse(Graph& g, Node& dequantise, const Quant& q, ValueId v) {
  const ValueId r = dequantise.out[0];
  if (!g[v].quant || *g[v].quant == q) {
    g[v].quant = q;
    g.replace_uses(r, v);
    dequantise.in = {v};
    return;
  }
  g[r].quant = q;
  dequantise = requantise_node(dequantise, v, r);
}

}  // namespace

void annotate(Graph& g) {
  for (size_t i = 0; i < g.nodes.size(); i++) {
    Node& n = g.nodes[i];
    const Op& op = op_of(n);
    if (!op.as_dequantise) continue;
    const auto q = op.as_dequantise(g, n);
    if (!q) continue;
    const ValueId q_value = n.in[0];
    const int p = g.producer(q_value);
    if (p >= 0) {
      const Node& from = g.nodes[size_t(p)];
      const Op& from_op = op_of(from);
      if (!from_op.as_quantise) {
        // int8 data movement between quantise and dequantise: the scale goes along.
        g[q_value].quant = q;
        g.replace_uses(n.out[0], q_value);
        continue;
      }
      if (*from_op.as_quantise(g, from) != *q)
        fail(g, n, Code::bad_scales, "dequantises by another scale than '" + from.name + "' quantised by",
             "export the program again after convert_pt2e");
      collapse(g, n, *q, from.in[0]);
    } else {  // a program input that is int8 already
      g[q_value].quant = q;
      g.replace_uses(n.out[0], q_value);
    }
  }
  for (Node& n : g.nodes) {  // a program output that stays int8
    const Op& op = op_of(n);
    if (!op.as_quantise || !g.is_output(n.out[0])) continue;
    const auto q = op.as_quantise(g, n);
    const ValueId v = n.in[0];
    if (g[v].quant && *g[v].quant != *q) {
      g[n.out[0]].quant = q;
      n = requantise_node(n, v, n.out[0]);
    } else {
      g[v].quant = q;
      g.replace_uses(n.out[0], v);
    }
  }
}

}  // namespace corten
