// legalize: every ATen node is handed to the operator that claims it; what is computed from constants alone is folded.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "compiler/annotate.h"
#include "compiler/archive.h"
#include "compiler/evaluate.h"
#include "compiler/passes.h"
#include "ir/close_names.h"
#include "ops/op.h"

namespace corten {

namespace {

const std::map<std::string_view, const Claim*>& claims() {
  static const auto table = [] {
    std::map<std::string_view, const Claim*> t;
    for (const Op* op : all_ops())
      for (const Claim& c : op->claims)
        if (!t.emplace(c.aten, &c).second) throw std::logic_error("claimed twice: " + std::string(c.aten));
    return t;
  }();
  return table;
}

[[noreturn]] void fail_unknown(const Graph& g, const Node& n) {
  std::string close;
  const std::string_view stem = std::string_view(n.op).substr(0, n.op.rfind('.'));
  size_t best = std::min<size_t>(4, (stem.size() - std::min(stem.size(), std::string_view("aten.").size())) / 3 + 1);
  for (const auto& [name, claim] : claims()) {
    const size_t d = edit_distance(stem, name.substr(0, name.rfind('.')));
    if (d < best) best = d, close = name;
  }
  std::string help = "rewrite this line with supported operators (`corten operators` lists them)";
  if (!close.empty()) help += "; the closest supported one is " + close;
  fail(g, n, Code::unsupported_operator, "operator " + n.op + " is not supported", help);
}

// Quantised weights that were folded to whole numbers in float32 go back to integers.
std::shared_ptr<const Tensor> integers_of(const Tensor& t) {
  if (t.dtype != DType::f32) return std::make_shared<Tensor>(t);
  const int64_t n = elements(t.shape);
  const float* from = t.as<float>();
  const bool narrow = std::all_of(from, from + n, [](float v) { return v >= -128 && v <= 127; });
  auto out = make_tensor(narrow ? DType::i8 : DType::i32, t.shape);
  for (int64_t i = 0; i < n; i++) {
    if (narrow)
      out->as<int8_t>()[i] = int8_t(from[i]);
    else
      out->as<int32_t>()[i] = int32_t(from[i]);
  }
  return out;
}

// Folds a node whose operands are all constants; keeps int8 data and its scales through pure data movement.
bool fold(Graph& g, const Node& n) {
  const Op& op = op_of(n);
  if (n.in.empty() || n.out.size() != 1) return false;
  for (ValueId v : n.in)
    if (v != kNone && !g.is_constant(v)) return false;
  const Value& in = g[n.in[0]];
  Value& out = g[n.out[0]];
  if (op.as_dequantise) {
    out.data = integers_of(*in.data);
    out.quant = op.as_dequantise(g, n);
  } else if (op.layout == LayoutRule::permutation) {
    std::vector<int> perm;
    for (int64_t d : n.ints("perm")) perm.push_back(int(d));
    out.data = transposed(*in.data, perm);
    out.quant = in.quant;
    if (out.quant && out.quant->axis >= 0)
      out.quant->axis = int(std::find(perm.begin(), perm.end(), out.quant->axis) - perm.begin());
  } else if (op.alias && (!in.quant || in.quant->axis < 0 || in.shape == out.shape)) {
    auto copy = std::make_shared<Tensor>(*in.data);
    copy->shape = out.shape;
    out.data = copy, out.quant = in.quant;
  } else if (op.eval) {
    out.data = evaluate_constant(g, n);
  } else {
    return false;
  }
  out.dtype = out.data->dtype;
  return true;
}

}  // namespace

ValueId Legalizer::tensor(std::string_view argument) const {
  const ValueId v = optional_tensor(argument);
  if (v == kNone)
    fail(Code::unsupported_use, "argument '" + std::string(argument) + "' of " + n.aten + " is missing or not a tensor");
  return v;
}

ValueId Legalizer::optional_tensor(std::string_view argument) const {
  for (size_t i = 0; i < n.in.size(); i++)
    if (n.in_names[i] == argument) return n.in[i];
  return kNone;
}

std::vector<ValueId> Legalizer::tensors(std::string_view argument) const {
  std::vector<ValueId> all;
  for (size_t i = 0; i < n.in.size(); i++)
    if (n.in_names[i] == argument) all.push_back(n.in[i]);
  return all;
}

int Legalizer::dim(int64_t d, int rank) const {
  const int64_t wrapped = d < 0 ? d + std::max(rank, 1) : d;
  if (wrapped < 0 || wrapped >= std::max(rank, 1))
    fail(Code::unsupported_use, "dimension " + std::to_string(d) + " is outside a tensor of rank " + std::to_string(rank));
  return int(wrapped);
}

const Tensor& Legalizer::constant(ValueId v, std::string_view what) const {
  if (!g.is_constant(v))
    fail(Code::not_constant, "the " + std::string(what) + " ('" + g[v].name + "') is computed at run time",
         "it has to be a parameter, a buffer or a constant of the model");
  return *g[v].data;
}

std::vector<float> Legalizer::floats(ValueId v, std::string_view what) const {
  constant(v, what);
  return constant_floats(g, v);
}

ValueId Legalizer::emit(std::string op, std::vector<ValueId> in, std::map<std::string, Attr> attrs, int outputs) {
  const Op* known = find_op(op);
  if (!known) throw std::logic_error("no operator named " + op);
  Node e;
  e.op = std::move(op), e.in = std::move(in), e.attrs = std::move(attrs);
  e.name = emitted_.empty() ? n.name : n.name + "." + std::to_string(emitted_.size());
  e.aten = n.aten, e.where = n.where;
  for (int i = 0; i < outputs; i++)
    e.out.push_back(g.add_value(outputs == 1 ? e.name : e.name + ":" + std::to_string(i), DType::f32, {}));
  known->infer(g, e);
  const ValueId first = e.out[0];
  if (!fold(g, e)) emitted_.push_back(std::move(e));
  return first;
}

ValueId Legalizer::emit_constant(std::string name, Shape s, const std::vector<float>& data) {
  return g.add_constant(n.name + "." + name, make_tensor(std::move(s), data));
}

void Legalizer::result(ValueId v, int output) {
  if (int(results_.size()) <= output) results_.resize(size_t(output) + 1, kNone);
  results_[size_t(output)] = v;
}

void legalize(Graph& g) {
  std::vector<Diag> diags;
  std::vector<Node> old = std::move(g.nodes), made;
  g.nodes.clear();
  for (const Node& n : old)  // the ATen results go; the operators' results carry their names
    for (ValueId v : n.out) g[v].name += "#aten";
  std::map<ValueId, ValueId> stands_for;
  const auto current = [&](ValueId v) {
    const auto it = stands_for.find(v);
    return it == stands_for.end() ? v : it->second;
  };
  bool broken = false;  // after a failure, of nodes that need its result only the operator is checked
  std::vector<char> lost(g.values.size(), 0);
  for (Node& n : old) {
    bool skip = false;
    for (ValueId& v : n.in) v = current(v), skip = skip || (v >= 0 && size_t(v) < lost.size() && lost[size_t(v)]);
    const auto mark_lost = [&] {
      for (ValueId v : n.out) lost[size_t(v)] = 1;
      broken = true;
    };
    try {
      const auto claim = claims().find(n.op);
      if (claim == claims().end()) fail_unknown(g, n);
      if (skip) {
        mark_lost();
        continue;
      }
      if (n.has("refused_type"))  // of a result, see import
        fail(g, n, Code::unsupported_dtype,
             "the result of " + n.op + " is " + n.text("refused_type") + ", a type that is not supported", kTypeHelp);
      std::vector<Node> emitted;
      Legalizer l(g, n, emitted);
      claim->second->legalize(l);
      for (size_t i = 0; i < n.out.size(); i++) {
        const ValueId r = l.result_of(int(i));
        if (r != kNone) stands_for[n.out[i]] = r;
        // An output that the operator does not give (indices of a max pool, saved statistics) matters only if somebody reads it.
      }
      for (Node& e : emitted) made.push_back(std::move(e));
      for (size_t i = 0; i < n.out.size(); i++) {
        const ValueId r = l.result_of(int(i));
        if (r != kNone && g[r].shape != g[n.out[i]].shape && !g[n.out[i]].shape.empty())
          fail(g, n, Code::not_an_export,
               "this program says the result has shape " + to_text(g[n.out[i]].shape) + ", but its operands give " +
                   to_text(g[r].shape),
               "export the model again; the file does not fit together");
      }
    } catch (const Error& e) {
      diags.push_back(e.diag);
      mark_lost();
    }
  }
  if (broken) throw Errors(std::move(diags));
  g.nodes = std::move(made);
  std::vector<char> made_value(g.values.size(), 0);
  for (ValueId v : g.inputs) made_value[size_t(v)] = 1;
  for (const Node& n : g.nodes)
    for (ValueId v : n.out) made_value[size_t(v)] = 1;
  for (ValueId& v : g.outputs) v = current(v);
  for (const Node& n : old)
    for (ValueId v : n.in)
      if (v != kNone && !g.is_constant(v) && !made_value[size_t(v)])
        fail(g, n, Code::unsupported_use, "reads '" + g[v].name + "', a result that is not supported",
             "avoid it, for example return_indices=True or statistics of a batch norm");
  for (ValueId v : g.outputs)
    if (!g.is_constant(v) && !made_value[size_t(v)]) {
      Diag d(Code::unsupported_use, "output '" + g[v].name + "' is a result that is not supported",
             "return only floating-point results that the supported operators give");
      d.subject = g.source;
      throw Error(d);
    }
  annotate(g);
  g.remove_dead();
}

}  // namespace corten
