// fuse: a node that is just a clamp, an affine map, a unary function or a pad goes into its neighbour where that can take it.
#include <algorithm>

#include "compiler/passes.h"
#include "ops/op.h"

namespace corten {

namespace {

bool same_scale(const Graph& g, ValueId a, ValueId b) { return !g[a].quant || (g[b].quant && *g[a].quant == *g[b].quant); }

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
  g.nodes.erase(g.nodes.begin() + std::ptrdiff_t(b_index));
  return true;
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
  return true;
}

}  // namespace

void fuse(Graph& g) {
  for (size_t i = 0; i < g.nodes.size();) {
    if (into_producer(g, i)) {
      i = i ? i - 1 : 0;
      continue;
    }
    if (into_consumer(g, i)) continue;
    i++;
  }
  g.remove_dead();
}

}  // namespace corten
