// What every pass may rely on, checked after each of them.
#include <cmath>
#include <unordered_set>

#include "ir/graph.h"

namespace corten {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& g) : g_(g), defined_(g.values.size()) {}

  void run() {
    for (const Value& v : g_.values) value(v);
    for (ValueId v : g_.inputs) input(v);
    for (const Node& n : g_.nodes) node(n);
    if (g_.outputs.empty()) wrong("the graph returns nothing");
    for (ValueId v : g_.outputs) {
      if (!known(v)) wrong("an output names no value of the graph (" + std::to_string(v) + ")");
      if (!defined_[size_t(v)] && !g_[v].data) wrong("output %" + g_[v].name + " is never computed");
    }
  }

 private:
  bool known(ValueId v) const { return v >= 0 && size_t(v) < g_.values.size(); }

  [[noreturn]] void wrong(std::string message) const {
    Diag d(Code::internal, std::move(message));
    d.subject = g_.source;
    throw Error(std::move(d));
  }

  void value(const Value& v) {
    if (v.name.empty()) wrong("a value has no name");
    if (!names_.insert(v.name).second) wrong("two values are named %" + v.name);
    int64_t bytes = size_of(v.dtype);
    for (int64_t d : v.shape)
      if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes)) wrong("%" + v.name + " has the shape " + to_text(v.shape));
    if (v.data) {
      const Tensor& t = *v.data;
      if (t.dtype != v.dtype || t.shape != v.shape) {
        wrong("%" + v.name + " is " + std::string(to_text(v.dtype)) + to_text(v.shape) + ", but its data is " +
              std::string(to_text(t.dtype)) + to_text(t.shape));
      }
      if (int64_t(t.bytes.size()) != bytes) {
        wrong("%" + v.name + " holds " + std::to_string(t.bytes.size()) + " bytes; its shape takes " + std::to_string(bytes));
      }
    }
    if (v.quant) quant(v, *v.quant);
  }

  void quant(const Value& v, const Quant& q) {
    if (q.axis < -1 || q.axis >= int(v.shape.size())) {
      wrong("%" + v.name + " is quantised along axis " + std::to_string(q.axis) + " of " + to_text(v.shape));
    }
    const size_t count = q.axis < 0 ? 1 : size_t(v.shape[size_t(q.axis)]);
    if (q.scale.size() != count || q.zero.size() != count) {
      wrong("%" + v.name + " has " + std::to_string(q.scale.size()) + " scales and " + std::to_string(q.zero.size()) +
            " zero points; it takes " + std::to_string(count));
    }
    for (size_t i = 0; i < count; i++) {
      if (!std::isfinite(q.scale[i]) || q.scale[i] <= 0) wrong("a scale of %" + v.name + " is not a positive number");
      if (q.zero[i] < q.lo || q.zero[i] > q.hi) {
        wrong("zero point " + std::to_string(q.zero[i]) + " of %" + v.name + " is outside " + std::to_string(q.lo) + ".." +
              std::to_string(q.hi));
      }
    }
  }

  void input(ValueId v) {
    if (!known(v)) wrong("an input names no value of the graph (" + std::to_string(v) + ")");
    if (g_[v].data) wrong("input %" + g_[v].name + " is a constant");
    if (defined_[size_t(v)]) wrong("input %" + g_[v].name + " is listed twice");
    defined_[size_t(v)] = true;
  }

  void node(const Node& n) {
    if (n.op.empty()) fail(g_, n, Code::internal, "the node has no operator");
    if (n.name.empty()) fail(g_, n, Code::internal, "the node has no name (operator " + n.op + ")");
    if (!node_names_.insert(n.name).second) fail(g_, n, Code::internal, "two nodes are named " + n.name);
    if (!n.in_names.empty() && n.in_names.size() != n.in.size())
      fail(g_, n, Code::internal, "operands and their names differ in number");
    for (ValueId v : n.in) {
      if (v == kNone) continue;
      if (!known(v)) fail(g_, n, Code::internal, "an operand names no value of the graph (" + std::to_string(v) + ")");
      if (!defined_[size_t(v)] && !g_[v].data)
        fail(g_, n, Code::internal, "operand %" + g_[v].name + " is not computed before this node");
    }
    for (ValueId v : n.out) {
      if (v == kNone) continue;
      if (!known(v)) fail(g_, n, Code::internal, "a result names no value of the graph (" + std::to_string(v) + ")");
      if (g_[v].data) fail(g_, n, Code::internal, "result %" + g_[v].name + " is a constant");
      if (defined_[size_t(v)]) fail(g_, n, Code::internal, "result %" + g_[v].name + " is already defined");
      defined_[size_t(v)] = true;
    }
  }

  const Graph& g_;
  std::vector<bool> defined_;
  std::unordered_set<std::string_view> names_, node_names_;
};

}  // namespace

void verify(const Graph& g) { Verifier(g).run(); }

}  // namespace corten
