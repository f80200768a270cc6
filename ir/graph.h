// The graph every pass reads and rewrites. Values are named by index; a node has an op name, operands, attributes and a place.
//
// After import, node.op is an ATen name ("aten.conv2d.default") and operands carry the schema's argument names. After legalize,
// it is an operator of ops/ops.def ("conv2d"). Shapes are in PyTorch's order until the layout pass, physical (channels last) after.
#pragma once
#include <stdint.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/diag.h"

namespace corten {

using Shape = std::vector<int64_t>;
int64_t elements(const Shape&);
std::string to_text(const Shape&);  // "[1, 3, 32, 32]"

enum class DType : uint8_t { f32, i8, i32, i64, u8, i16, b8, f64, f16, bf16 };
std::string_view to_text(DType);  // "f32"
int size_of(DType);

// real = scale * (q - zero); one entry per tensor, or one per index of `axis`.
struct Quant {
  std::vector<double> scale;
  std::vector<int32_t> zero;
  int axis = -1;  // -1: per tensor
  int lo = -128, hi = 127;
  bool operator==(const Quant&) const = default;
};

// Constant data, row-major and contiguous.
struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<uint8_t> bytes;
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};
std::shared_ptr<Tensor> make_tensor(DType, Shape);                                // zeros
std::shared_ptr<Tensor> make_tensor(Shape, const std::vector<float>&);            // f32
std::shared_ptr<Tensor> transposed(const Tensor&, const std::vector<int>& perm);  // any dtype; out.dim[i] = in.dim[perm[i]]

using ValueId = int32_t;
inline constexpr ValueId kNone = -1;

struct Value {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::shared_ptr<const Tensor> data;  // set: a constant
  std::optional<Quant> quant;          // set: known or chosen; an int8 value once quantised
  std::vector<float> mean;             // of each channel (dim 1) over the calibration data; empty if not known
  // After the layout pass: the value of the graph before it that this is, and in which order (dim i is that value's dim perm[i]).
  ValueId of = -1;
  std::vector<int> perm;
};

using Attr = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

struct Node {
  std::string op;
  std::string name;                   // unique, as exported
  std::string aten;                   // the ATen op it came from, kept through all passes
  std::vector<ValueId> in;            // kNone for an absent optional
  std::vector<std::string> in_names;  // ATen nodes only: schema argument of each operand ("self", "weight", "tensors", ...)
  std::vector<ValueId> out;
  std::map<std::string, Attr> attrs;
  Location where;
  std::vector<std::string> fused;  // names of nodes that became part of this one

  bool has(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t missing = 0) const;
  double real(std::string_view key, double missing = 0) const;  // also reads an int
  bool flag(std::string_view key, bool missing = false) const;
  std::string text(std::string_view key, std::string missing = {}) const;
  std::vector<int64_t> ints(std::string_view key, std::vector<int64_t> missing = {}) const;  // also reads one int
  std::vector<double> reals(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
};

// Where a node of an exported program was before: PT2E and QAT export a model, change it, and export it again.
struct Origin {
  std::string node;    // in the first of those exports, by the metadata's from_node; "" if it does not say
  std::string module;  // path of the nn.Module
  std::string aten;
  int index = 0;  // among the nodes of this ATen operator in this module, in their order
};

struct Graph {
  std::string source;  // the file it came from, for messages
  std::vector<Value> values;
  std::vector<Node> nodes;      // in execution order
  std::vector<ValueId> inputs;  // user inputs only; parameters and buffers are constants
  std::vector<ValueId> outputs;
  // Set by the layout pass, one per input and output: device dim i is PyTorch's dim perm[i]. Empty: PyTorch's order.
  std::vector<std::vector<int>> input_perm, output_perm;
  std::map<std::string, Origin> origins;  // by the names of the imported nodes; no pass changes it

  Value& operator[](ValueId v) { return values[size_t(v)]; }
  const Value& operator[](ValueId v) const { return values[size_t(v)]; }
  ValueId add_value(std::string name, DType, Shape);
  ValueId add_constant(std::string name, std::shared_ptr<const Tensor>);
  bool is_constant(ValueId v) const { return v >= 0 && values[size_t(v)].data != nullptr; }

  std::vector<int> users(ValueId) const;  // indices of nodes that read it (once each)
  int producer(ValueId) const;            // index of the node that makes it, or -1
  bool is_output(ValueId) const;
  void replace_uses(ValueId from, ValueId to);  // in nodes and outputs
  void remove_dead();                           // nodes whose results nobody reads
};

// A message about this node: its name, ATen op and the user's line; and an Error of it.
Diag located(const Graph&, const Node&, Code, std::string message, std::string help = {});
[[noreturn]] void fail(const Graph&, const Node&, Code, std::string message, std::string help = {});

std::string print(const Graph&);                                    // docs/ir.md
Graph parse(std::string_view text, std::string source = "<text>");  // throws Error
void verify(const Graph&);                                          // throws Error: names, operands, order, shapes

}  // namespace corten
