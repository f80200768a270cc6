// layout: the whole program in channels-last order.
//
// Every channels_last operator is put between two transposes; then transposes are moved down through operators that do not care
// about order, cancelled, turned into permuted weights after a flatten, and absorbed by the program's inputs and outputs. What is
// left is a real transpose step. Shapes are physical afterwards.
#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/passes.h"
#include "ops/op.h"

namespace corten {

namespace {

using Perm = std::vector<int>;

Perm inverse(const Perm& p) {
  Perm q(p.size());
  for (size_t i = 0; i < p.size(); i++) q[size_t(p[i])] = int(i);
  return q;
}
bool is_identity(const Perm& p) {
  for (size_t i = 0; i < p.size(); i++)
    if (p[i] != int(i)) return false;
  return true;
}
Shape permuted(const Shape& s, const Perm& p) {
  Shape out;
  for (int d : p) out.push_back(s[size_t(d)]);
  return out;
}
// Only dims of extent 1 change places: the bytes stay as they are.
bool moves_nothing(const Shape& from, const Perm& p) {
  int last = -1;
  for (int d : p) {
    if (from[size_t(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

bool is_transpose(const Op& op) { return op.layout == LayoutRule::permutation; }
bool is_view(const Op& op) { return op.alias; }

class Mover {
 public:
  explicit Mover(Graph& graph) : g(graph) {}

  void run() {
    wrap();
    settle([&] { return cancel() || merge() || sink() || flatten(); });
    outputs();  // before transposes go the other way
    settle([&] { return cancel() || merge() || hoist() || flatten(); });
    inputs();
    settle([&] { return cancel() || merge() || memory_views(); });
    g.remove_dead();
  }

 private:
  Graph& g;
  std::set<std::string> sunk_;  // nodes that went through a transpose once

  template <class F>
  void settle(F step) {
    while (step()) {
    }
  }

  const Node* transpose_making(ValueId v) const {
    const int p = g.producer(v);
    return p >= 0 && is_transpose(op_of(g.nodes[size_t(p)])) ? &g.nodes[size_t(p)] : nullptr;
  }
  static Perm perm_of(const Node& n) {
    Perm p;
    for (int64_t d : n.ints("perm")) p.push_back(int(d));
    return p;
  }
  Node transpose_node(const Node& beside, ValueId from, ValueId to, const Perm& p) const {
    Node t;
    t.op = operator_that(is_transpose).name;
    t.name = g[to].name + ".transpose", t.aten = beside.aten, t.where = beside.where;
    t.in = {from}, t.out = {to};
    t.attrs["perm"] = std::vector<int64_t>(p.begin(), p.end());
    return t;
  }
  ValueId add_like(ValueId v, const std::string& suffix, const Perm& p) {
    const ValueId made = g.add_value(g[v].name + suffix, g[v].dtype, permuted(g[v].shape, p));
    g[made].quant = g[v].quant;
    g[made].of = g[v].of == kNone ? v : g[v].of;
    g[made].perm = p;
    if (!g[v].perm.empty())
      for (size_t d = 0; d < p.size(); d++) g[made].perm[d] = g[v].perm[size_t(p[d])];
    return made;
  }

  // Transposes around every channels_last operator.
  void wrap() {
    for (size_t i = 0; i < g.nodes.size(); i++) {
      if (op_of(g.nodes[i]).layout != LayoutRule::channels_last) continue;
      g.nodes[i].attrs["layout"] = std::string("nhwc");
      const ValueId x = g.nodes[i].in[0], y = g.nodes[i].out[0];
      const size_t rank = g[x].shape.size();
      if (rank < 3) continue;
      Perm p(rank);
      std::iota(p.begin(), p.end(), 0);
      std::rotate(p.begin() + 1, p.begin() + 2, p.end());
      const ValueId inner_x = add_like(x, ".nhwc." + g.nodes[i].name, p), inner_y = add_like(y, ".nhwc", p);
      g.nodes[i].in[0] = inner_x, g.nodes[i].out[0] = inner_y;
      const Node before = transpose_node(g.nodes[i], x, inner_x, p), after = transpose_node(g.nodes[i], inner_y, y, inverse(p));
      g.nodes.insert(g.nodes.begin() + std::ptrdiff_t(i) + 1, after);
      g.nodes.insert(g.nodes.begin() + std::ptrdiff_t(i), before);
      i += 2;
    }
  }

  // Identity transposes go; two in a row become one.
  bool cancel() {
    for (size_t i = 0; i < g.nodes.size(); i++) {
      Node& n = g.nodes[i];
      if (!is_transpose(op_of(n))) continue;
      const Perm p = perm_of(n);
      if (g.users(n.out[0]).empty() && !g.is_output(n.out[0])) {
        g.nodes.erase(g.nodes.begin() + std::ptrdiff_t(i));
        return true;
      }
      if (is_identity(p) && !g.is_output(n.out[0])) {
        g.replace_uses(n.out[0], n.in[0]);
        g.nodes.erase(g.nodes.begin() + std::ptrdiff_t(i));
        return true;
      }
      const Node* before = transpose_making(n.in[0]);
      if (!before) continue;
      const Perm q = perm_of(*before);
      Perm both(p.size());
      for (size_t d = 0; d < p.size(); d++) both[d] = q[size_t(p[d])];
      if (is_identity(both) && !g.is_output(n.out[0])) {
        g.replace_uses(n.out[0], before->in[0]);
      } else {
        n.attrs["perm"] = std::vector<int64_t>(both.begin(), both.end());
        n.in[0] = before->in[0];
      }
      return true;
    }
    return false;
  }

  // The same transpose of the same value twice.
  bool merge() {
    for (size_t i = 0; i < g.nodes.size(); i++) {
      if (!is_transpose(op_of(g.nodes[i]))) continue;
      for (size_t j = i + 1; j < g.nodes.size(); j++) {
        const Node &a = g.nodes[i], &b = g.nodes[j];
        if (!is_transpose(op_of(b)) || a.in[0] != b.in[0] || perm_of(a) != perm_of(b) || g.is_output(b.out[0])) continue;
        g.replace_uses(b.out[0], a.out[0]);
        g.nodes.erase(g.nodes.begin() + std::ptrdiff_t(j));
        return true;
      }
    }
    return false;
  }

  bool may_reorder(const Node& n, size_t rank) const {
    const Op& op = op_of(n);
    if (op.layout != LayoutRule::elementwise || n.out.size() != 1) return false;
    for (ValueId v : n.in)
      if (v != kNone && !g.is_constant(v) && g[v].shape.size() != rank) return false;
    return true;
  }

  // A constant operand in the order of permuted neighbours; lower ranks broadcast from the left.
  ValueId reorder_constant(ValueId v, const Perm& p) {
    if (elements(g[v].shape) == 1) return v;
    auto t = std::make_shared<Tensor>(*g[v].data);
    if (t->shape.size() < p.size()) t->shape.insert(t->shape.begin(), p.size() - t->shape.size(), 1);
    const ValueId c = g.add_constant(g[v].name + ".order", transposed(*t, p));
    g[c].quant = g[v].quant;
    return c;
  }

  // Node `i` works on operands whose dim d is the old dim p[d]; returns the order of its output the same way.
  Perm reorder(size_t i, const Perm& p) {
    const Op& op = op_of(g.nodes[i]);
    if (op.permute) op.permute(g.nodes[i], p);
    Perm out = p;
    if (g.nodes[i].has("out_perm")) {
      out.clear();
      for (int64_t d : g.nodes[i].ints("out_perm")) out.push_back(int(d));
      g.nodes[i].attrs.erase("out_perm");
    }
    return out;
  }

  // transpose -> elementwise becomes elementwise -> transpose where most operands come through the same transpose.
  bool sink() {
    for (size_t i = 0; i < g.nodes.size(); i++) {
      const Node& n = g.nodes[i];
      if (n.in.empty() || sunk_.contains(n.name)) continue;
      const Node* t = nullptr;
      for (ValueId v : n.in)
        if (v != kNone && !t) t = transpose_making(v);
      if (!t || !may_reorder(n, g[t->in[0]].shape.size())) continue;
      const Perm p = perm_of(*t), back = inverse(p);
      int through = 0, beside = 0;
      for (ValueId v : n.in) {
        if (v == kNone || g.is_constant(v)) continue;
        const Node* other = transpose_making(v);
        (other && perm_of(*other) == p ? through : beside)++;
      }
      if (through < beside) continue;
      sunk_.insert(n.name);
      for (size_t k = 0; k < g.nodes[i].in.size(); k++) {
        const ValueId v = g.nodes[i].in[k];
        if (v == kNone) continue;
        const Node* other = g.is_constant(v) ? nullptr : transpose_making(v);
        if (g.is_constant(v)) {
          g.nodes[i].in[k] = reorder_constant(v, back);
        } else if (other && perm_of(*other) == p) {
          g.nodes[i].in[k] = other->in[0];
        } else {
          const ValueId moved = add_like(v, ".order." + g.nodes[i].name + std::to_string(k), back);
          g.nodes[i].in[k] = moved;
          const Node extra = transpose_node(g.nodes[i], v, moved, back);
          g.nodes.insert(g.nodes.begin() + std::ptrdiff_t(i), extra);
          i++;
        }
      }
      const Perm out = reorder(i, back);
      const ValueId y = g.nodes[i].out[0], inner = add_like(y, ".order", out);
      g.nodes[i].out[0] = inner;
      g.nodes.insert(g.nodes.begin() + std::ptrdiff_t(i) + 1, transpose_node(g.nodes[i], inner, y, inverse(out)));
      return true;
    }
    return false;
  }

  // elementwise -> transpose becomes transpose -> elementwise where that brings it nearer to an input.
  bool hoist() {
    for (size_t i = 0; i < g.nodes.size(); i++) {
      const Node& t = g.nodes[i];
      if (!is_transpose(op_of(t)) || g.is_output(t.in[0])) continue;
      const int at = g.producer(t.in[0]);
      if (at < 0 || g.users(t.in[0]).size() != 1) continue;
      const Node& n = g.nodes[size_t(at)];
      if (!may_reorder(n, perm_of(t).size()) || sunk_.contains(n.name + "^")) continue;
      int operands = 0;
      for (ValueId v : n.in) operands += v != kNone && !g.is_constant(v);
      if (operands != 1 || g[n.in[0]].shape.size() != g[n.out[0]].shape.size()) continue;
      sunk_.insert(n.name + "^");
      const Perm p = perm_of(t);
      const ValueId y = t.out[0];
      g.nodes.erase(g.nodes.begin() + std::ptrdiff_t(i));
      Node& m = g.nodes[size_t(at)];
      m.out[0] = y;
      for (size_t k = 0; k < m.in.size(); k++) {
        const ValueId v = g.nodes[size_t(at)].in[k];
        if (v != kNone && g.is_constant(v)) g.nodes[size_t(at)].in[k] = reorder_constant(v, p);
      }
      reorder(size_t(at), p);
      for (size_t k = 0; k < g.nodes[size_t(at)].in.size(); k++) {
        const ValueId v = g.nodes[size_t(at)].in[k];
        if (v == kNone || g.is_constant(v)) continue;
        const ValueId moved = add_like(v, ".order." + g.nodes[size_t(at)].name, p);
        g.nodes[size_t(at)].in[k] = moved;
        g.nodes.insert(g.nodes.begin() + at, transpose_node(g.nodes[size_t(at)], v, moved, p));
        break;
      }
      return true;
    }
    return false;
  }

  // Nodes that read v's last dimension and can take another order of it; unary nodes between may pass it on.
  bool takers(ValueId v, std::vector<std::string>& names) const {
    if (g.is_output(v)) return false;
    for (int u : g.users(v)) {
      const Node& n = g.nodes[size_t(u)];
      const Op& op = op_of(n);
      if (n.in[0] != v || std::count(n.in.begin(), n.in.end(), v) != 1) return false;
      if (op.absorb_order) {
        names.push_back(n.name);
      } else if (op.layout == LayoutRule::elementwise && !op.permute && n.in.size() == 1 && n.out.size() == 1) {
        if (!takers(n.out[0], names)) return false;
      } else {
        return false;
      }
    }
    return true;
  }

  // transpose -> flatten -> linear: the linear's weights take the order, the bytes stay.
  bool flatten() {
    for (size_t i = 0; i < g.nodes.size(); i++) {
      const Node& n = g.nodes[i];
      if (!is_view(op_of(n))) continue;
      const Node* t = transpose_making(n.in[0]);
      if (!t) continue;
      const Shape &a = g[n.in[0]].shape, &out = g[n.out[0]].shape, &x = g[t->in[0]].shape;
      const Perm p = perm_of(*t);
      if (moves_nothing(x, p)) {
        g.nodes[i].in[0] = t->in[0];
        return true;
      }
      size_t lead = 0;  // leading dims that stay
      while (lead < a.size() && p[lead] == int(lead) && lead + 1 < out.size() && a[lead] == out[lead]) lead++;
      if (out.empty() || lead + 1 != out.size()) continue;
      std::vector<std::string> names;
      if (!takers(n.out[0], names) || names.empty()) continue;
      const std::vector<int64_t> index = order(Shape(a.begin() + std::ptrdiff_t(lead), a.end()), p, lead);
      g.nodes[i].in[0] = t->in[0];
      for (const std::string& name : names)
        for (Node& user : g.nodes)
          if (user.name == name && !op_of(user).absorb_order(g, user, index))
            throw std::logic_error("absorb_order refused after it was offered");
      return true;
    }
    return false;
  }

  // index[j]: where element j of the untransposed tail lies in the transposed tail.
  static std::vector<int64_t> order(const Shape& tail, const Perm& p, size_t lead) {
    const size_t rank = tail.size();
    Perm q(rank);  // within the tail: a.dim[d] = x.dim[q[d]]
    for (size_t d = 0; d < rank; d++) q[d] = p[lead + d] - int(lead);
    Shape x(rank);
    for (size_t d = 0; d < rank; d++) x[size_t(q[d])] = tail[d];
    std::vector<int64_t> strides(rank, 1), index(size_t(elements(tail)));
    for (size_t d = rank - 1; d-- > 0;) strides[d] = strides[d + 1] * tail[d + 1];
    std::vector<int64_t> at(rank, 0);
    for (int64_t& to : index) {
      to = 0;
      for (size_t d = 0; d < rank; d++) to += at[size_t(q[d])] * strides[d];
      for (size_t d = rank; d-- > 0;) {
        if (++at[d] < x[d]) break;
        at[d] = 0;
      }
    }
    return index;
  }

  void outputs() {
    g.output_perm.clear();
    for (ValueId& v : g.outputs) {
      Perm p(g[v].shape.size());
      std::iota(p.begin(), p.end(), 0);
      if (const Node* t = transpose_making(v)) {
        p = inverse(perm_of(*t));
        v = t->in[0];
      }
      g.output_perm.push_back(p);
    }
    g.remove_dead();
  }

  void inputs() {
    g.input_perm.clear();
    for (ValueId v : g.inputs) {
      Perm p(g[v].shape.size());
      std::iota(p.begin(), p.end(), 0);
      const std::vector<int> users = g.users(v);
      bool all = !users.empty() && !g.is_output(v);
      for (int u : users) {
        const Node& n = g.nodes[size_t(u)];
        all = all && is_transpose(op_of(n)) && perm_of(n) == perm_of(g.nodes[size_t(users[0])]) && !g.is_output(n.out[0]);
      }
      if (all) {
        p = perm_of(g.nodes[size_t(users[0])]);
        g[v].shape = permuted(g[v].shape, p);
        std::vector<ValueId> made;
        for (int u : users) made.push_back(g.nodes[size_t(u)].out[0]);
        for (size_t k = users.size(); k-- > 0;) g.nodes.erase(g.nodes.begin() + users[k]);
        for (ValueId m : made) g.replace_uses(m, v);
      }
      g.input_perm.push_back(p);
    }
  }

  // A transpose that moves no byte is a view.
  bool memory_views() {
    for (Node& n : g.nodes) {
      if (!is_transpose(op_of(n)) || !moves_nothing(g[n.in[0]].shape, perm_of(n))) continue;
      n.op = operator_that(is_view).name;
      n.attrs = {{"shape", std::vector<int64_t>(g[n.out[0]].shape)}};
      return true;
    }
    return false;
  }
};

}  // namespace

void layout(Graph& g) {
  Mover(g).run();
  for (Node& n : g.nodes) {  // what the operators now say must be what the pass has set
    const Shape expected = g[n.out[0]].shape;
    const DType dtype = g[n.out[0]].dtype;
    op_of(n).infer(g, n);
    if (g[n.out[0]].shape != expected)
      throw std::logic_error("layout: " + n.name + " (" + n.op + ") has shape " + to_text(g[n.out[0]].shape) + ", not " +
                             to_text(expected));
    g[n.out[0]].dtype = dtype;
  }
}

}  // namespace corten
