// fuse: a node that is just a clamp, an affine map, a unary function or a pad goes into its neighbour where that can take it.
#include <algorithm>

#include "compiler/passes.h"
#include "ops/op.h"

namespace corten {

namespace {

bool same_scale(const Graph& g, ValueId a, ValueId b) { return !g[a].quant || (g[b].quant && *g[a].quant == *g[b].quant); }

void note_fused(Node& into, const Node& gone) {
  into.fused.push_back(gone.name);
  into.fused.insert(into.fused.end(), gone.fused.begin(), gone.fused.end());
}

// Node b into the node that makes its operand. True if b is gone.
bool into_producer(Graph& g, size_t b_index) {
  Node& b = g.nodes[b_index];
  if (b.in.empty() || b.in[0] == kNone || b.out.size() != 1) return false;
  const ValueId between = b.in[0];
  const int a_index = g.producer(between);
  if (a_index < 0 || g.is_output(between) || g.users(between).size() != 1 || !same_scale(g, between, b.out[0])) return false;
  if (std::count(b.in.begin(), b.in.end(), between) != 1) return false;
  Node& a = g.nodes[size_t(a_index)];
  if (a.out.size() != 1) return false;
  const Op &a_op = op_of(a), &b_op = op_of(b);
  bool taken = false;
  if (b_op.as_clamp && a_op.absorb_clamp)
    if (const auto clamp = b_op.as_clamp(b)) taken = a_op.absorb_clamp(g, a, *clamp);
  if (!taken && b_op.as_affine && a_op.absorb_affine)
    if (const auto affine = b_op.as_affine(g, b)) taken = a_op.absorb_affine(g, a, *affine);
  if (!taken && b_op.as_unary && a_op.absorb_unary)
    if (const auto unary = b_op.as_unary(b)) taken = a_op.absorb_unary(g, a, *unary);
  if (!taken) return false;
  a.out = b.out;
  note_fused(a, b);
  g.nodes.erase(g.nodes.begin() + std::ptrdiff_t(b_index));
  return true;
}

// x and f(x) of one unary node meet in b (x * sigmoid(x), as decomposition leaves SiLU): b becomes part of that unary node, so that
// no scale cuts between. True if b is gone.
bool into_unary_of_pair(Graph& g, size_t b_index) {
  const Node& b = g.nodes[b_index];
  const Op& b_op = op_of(b);
  if (!b_op.as_unary_with_kept || b.in.size() != 2 || b.in[0] == b.in[1]) return false;
  const auto unary = b_op.as_unary_with_kept(b);
  if (!unary) return false;
  for (int k = 0; k < 2; k++) {
    const ValueId f = b.in[size_t(k)], x = b.in[size_t(1 - k)];
    const int a_index = f == kNone ? -1 : g.producer(f);
    if (a_index < 0 || g.is_output(f) || g.users(f).size() != 1 || g[f].quant) continue;
    Node& a = g.nodes[size_t(a_index)];
    const Op& a_op = op_of(a);
    if (!a_op.as_unary || a.in.size() != 1 || a.in[0] != x || g[x].shape != g[b.out[0]].shape) continue;
    if (!a_op.absorb_unary || !a_op.absorb_unary(g, a, *unary)) continue;
    a.out = b.out;
    note_fused(a, b);
    g.nodes.erase(g.nodes.begin() + std::ptrdiff_t(b_index));
    return true;
  }
  return false;
}

// A pad into node b, which reads it. The pad stays for its other users.
bool into_consumer(Graph& g, size_t b_index) {
  Node& b = g.nodes[b_index];
  const Op& op = op_of(b);
  if (!op.absorb_padding || b.in.empty()) return false;
  const int a_index = g.producer(b.in[0]);
  if (a_index < 0) return false;
  const Node& a = g.nodes[size_t(a_index)];
  const Op& a_op = op_of(a);
  if (!a_op.as_padding || !same_scale(g, a.out[0], a.in[0])) return false;
  const auto padding = a_op.as_padding(g, a);
  if (!padding || !op.absorb_padding(g, b, *padding)) return false;
  b.in[0] = a.in[0];
  note_fused(b, a);
  return true;
}

bool is_pointwise(const Node& n) {
  const Op& op = op_of(n);
  if (n.in.size() != 1 || n.out.size() != 1) return false;
  return (op.as_clamp && op.as_clamp(n)) || (op.as_unary && op.as_unary(n));
}

// A pointwise node b behind a view moves before it, where what makes the view's operand may take it (core ATen has a view between
// addmm and the activation of a linear of rank 3).
bool before_view(Graph& g, size_t b_index) {
  if (!is_pointwise(g.nodes[b_index])) return false;
  const ValueId between = g.nodes[b_index].in[0], result = g.nodes[b_index].out[0];
  const int a_index = g.producer(between);
  if (a_index < 0 || g.is_output(between) || g.users(between).size() != 1 || !same_scale(g, between, result)) return false;
  const Node& a = g.nodes[size_t(a_index)];
  const ValueId source = a.in[0];
  const int source_index = op_of(a).alias ? g.producer(source) : -1;
  if (source_index < 0 || g.is_output(source) || g.users(source).size() != 1 || !same_scale(g, source, result)) return false;
  const Op& maker = op_of(g.nodes[size_t(source_index)]);
  if (!maker.absorb_clamp && !maker.absorb_unary && !maker.alias) return false;
  const ValueId moved = g.add_value(g[result].name + ".before", g[result].dtype, g[source].shape);
  g[moved].quant = g[result].quant;
  Node b = g.nodes[b_index];
  b.in[0] = source, b.out[0] = moved;
  g.nodes[size_t(a_index)].in[0] = moved, g.nodes[size_t(a_index)].out[0] = result;
  g.nodes.erase(g.nodes.begin() + std::ptrdiff_t(b_index));
  g.nodes.insert(g.nodes.begin() + a_index, std::move(b));
  return true;
}

}  // namespace

void fuse(Graph& g) {
  for (size_t i = 0; i < g.nodes.size();) {
    if (before_view(g, i)) {
      i = 0;
      continue;
    }
    if (into_producer(g, i) || into_unary_of_pair(g, i)) {
      i = i ? i - 1 : 0;
      continue;
    }
    if (into_consumer(g, i)) continue;
    i++;
  }
  g.remove_dead();
}

}  // namespace corten
