#include "ir/graph.h"

#include <string.h>

#include <algorithm>
#include <stdexcept>

namespace corten {

int64_t elements(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::string to_text(const Shape& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); i++) {
    if (i) s += ", ";
    s += std::to_string(shape[i]);
  }
  return s + "]";
}

std::string_view to_text(DType t) {
  switch (t) {
    case DType::f32:
      return "f32";
    case DType::i8:
      return "i8";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
    case DType::i16:
      return "i16";
    case DType::b8:
      return "b8";
    case DType::f64:
      return "f64";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
  }
  return "?";
}

int size_of(DType t) {
  switch (t) {
    case DType::i8:
    case DType::u8:
    case DType::b8:
      return 1;
    case DType::i16:
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::i64:
    case DType::f64:
      return 8;
  }
  return 0;
}

// ---- tensors ----------------------------------------------------------------------------------------------------------

std::shared_ptr<Tensor> make_tensor(DType dtype, Shape shape) {
  auto t = std::make_shared<Tensor>();
  t->dtype = dtype;
  t->bytes.resize(size_t(elements(shape)) * size_t(size_of(dtype)));
  t->shape = std::move(shape);
  return t;
}

std::shared_ptr<Tensor> make_tensor(Shape shape, const std::vector<float>& data) {
  if (int64_t(data.size()) != elements(shape)) throw std::logic_error("make_tensor: data does not fill " + to_text(shape));
  auto t = make_tensor(DType::f32, std::move(shape));
  if (!data.empty()) memcpy(t->bytes.data(), data.data(), t->bytes.size());
  return t;
}

std::shared_ptr<Tensor> transposed(const Tensor& in, const std::vector<int>& perm) {
  const size_t rank = in.shape.size();
  if (perm.size() != rank) throw std::logic_error("transposed: the permutation does not fit the rank of " + to_text(in.shape));
  std::vector<int64_t> in_stride(rank, 1);
  for (size_t i = rank; i-- > 1;) in_stride[i - 1] = in_stride[i] * in.shape[i];
  Shape shape(rank);
  std::vector<int64_t> stride(rank), index(rank, 0);
  for (size_t i = 0; i < rank; i++) {
    shape[i] = in.shape.at(size_t(perm[i]));
    stride[i] = in_stride[size_t(perm[i])];
  }
  auto out = make_tensor(in.dtype, shape);
  const size_t size = size_t(size_of(in.dtype));
  const int64_t count = elements(shape);
  int64_t from = 0;
  for (int64_t to = 0; to < count; to++) {
    memcpy(out->bytes.data() + size_t(to) * size, in.bytes.data() + size_t(from) * size, size);
    for (size_t d = rank; d-- > 0;) {  // count up, last dimension fastest
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return out;
}

// ---- attributes ---------------------------------------------------------------------------------------------------------

namespace {

template <class T>
const T* find(const std::map<std::string, Attr>& attrs, std::string_view key) {
  auto it = attrs.find(std::string(key));
  return it == attrs.end() ? nullptr : std::get_if<T>(&it->second);
}

}  // namespace

bool Node::has(std::string_view key) const { return attrs.count(std::string(key)) != 0; }

int64_t Node::integer(std::string_view key, int64_t missing) const {
  if (auto* v = find<int64_t>(attrs, key)) return *v;
  if (auto* v = find<bool>(attrs, key)) return *v;
  return missing;
}

double Node::real(std::string_view key, double missing) const {
  if (auto* v = find<double>(attrs, key)) return *v;
  if (auto* v = find<int64_t>(attrs, key)) return double(*v);
  return missing;
}

bool Node::flag(std::string_view key, bool missing) const {
  if (auto* v = find<bool>(attrs, key)) return *v;
  if (auto* v = find<int64_t>(attrs, key)) return *v != 0;
  return missing;
}

std::string Node::text(std::string_view key, std::string missing) const {
  if (auto* v = find<std::string>(attrs, key)) return *v;
  return missing;
}

std::vector<int64_t> Node::ints(std::string_view key, std::vector<int64_t> missing) const {
  if (auto* v = find<std::vector<int64_t>>(attrs, key)) return *v;
  if (auto* v = find<int64_t>(attrs, key)) return {*v};
  return missing;
}

std::vector<double> Node::reals(std::string_view key) const {
  if (auto* v = find<std::vector<double>>(attrs, key)) return *v;
  if (auto* v = find<std::vector<int64_t>>(attrs, key)) return {v->begin(), v->end()};
  if (find<double>(attrs, key) || find<int64_t>(attrs, key)) return {real(key)};
  return {};
}

std::vector<std::string> Node::texts(std::string_view key) const {
  if (auto* v = find<std::vector<std::string>>(attrs, key)) return *v;
  if (auto* v = find<std::string>(attrs, key)) return {*v};
  return {};
}

// ---- the graph ----------------------------------------------------------------------------------------------------------

namespace {

// Values print by name, so names must differ: "x", "x_2", "x_3" ...
std::string unused_name(const std::vector<Value>& values, std::string name) {
  auto taken = [&](const std::string& s) {
    return std::any_of(values.begin(), values.end(), [&](const Value& v) { return v.name == s; });
  };
  if (name.empty()) name = "v";
  if (!taken(name)) return name;
  for (int i = 2;; i++) {
    std::string s = name + "_" + std::to_string(i);
    if (!taken(s)) return s;
  }
}

}  // namespace

ValueId Graph::add_value(std::string name, DType dtype, Shape shape) {
  Value v;
  v.name = unused_name(values, std::move(name));
  v.dtype = dtype;
  v.shape = std::move(shape);
  values.push_back(std::move(v));
  return ValueId(values.size() - 1);
}

ValueId Graph::add_constant(std::string name, std::shared_ptr<const Tensor> data) {
  ValueId v = add_value(std::move(name), data->dtype, data->shape);
  values[size_t(v)].data = std::move(data);
  return v;
}

std::vector<int> Graph::users(ValueId v) const {
  std::vector<int> found;
  for (size_t i = 0; i < nodes.size(); i++) {
    const auto& in = nodes[i].in;
    if (std::find(in.begin(), in.end(), v) != in.end()) found.push_back(int(i));
  }
  return found;
}

int Graph::producer(ValueId v) const {
  for (size_t i = 0; i < nodes.size(); i++) {
    const auto& out = nodes[i].out;
    if (std::find(out.begin(), out.end(), v) != out.end()) return int(i);
  }
  return -1;
}

bool Graph::is_output(ValueId v) const { return std::find(outputs.begin(), outputs.end(), v) != outputs.end(); }

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& n : nodes) std::replace(n.in.begin(), n.in.end(), from, to);
  std::replace(outputs.begin(), outputs.end(), from, to);
}

void Graph::remove_dead() {
  std::vector<bool> read(values.size(), false);
  auto mark = [&](ValueId v) {
    if (v >= 0) read[size_t(v)] = true;
  };
  for (ValueId v : outputs) mark(v);
  std::vector<Node> kept;
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    bool live = std::any_of(n->out.begin(), n->out.end(), [&](ValueId v) { return v >= 0 && read[size_t(v)]; });
    if (!live) continue;
    for (ValueId v : n->in) mark(v);
    kept.push_back(std::move(*n));
  }
  std::reverse(kept.begin(), kept.end());
  nodes = std::move(kept);
}

Diag located(const Graph& g, const Node& n, Code code, std::string message, std::string help) {
  Diag d(code, std::move(message), std::move(help));
  d.subject = g.source;
  d.node = n.name;
  d.aten = n.aten;
  d.where = n.where;
  return d;
}

void fail(const Graph& g, const Node& n, Code code, std::string message, std::string help) {
  throw Error(located(g, n, code, std::move(message), std::move(help)));
}

}  // namespace corten
