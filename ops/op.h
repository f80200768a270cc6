// What an operator tells the compiler about itself. The only thing passes and operators share.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "runtime/kernel.h"
#include "runtime/tier.h"

namespace corten {

// ---- legalize: from ATen to operators -------------------------------------------------------------------------------

// What an operator's claim works with: reads one ATen node, emits operators in its place.
class Legalizer {
 public:
  Legalizer(Graph& graph, const Node& node, std::vector<Node>& emitted) : g(graph), n(node), emitted_(emitted) {}
  Graph& g;
  const Node& n;

  ValueId tensor(std::string_view argument) const;           // required; fails with a located message
  ValueId optional_tensor(std::string_view argument) const;  // or kNone
  std::vector<ValueId> tensors(std::string_view argument) const;
  const Shape& shape(ValueId v) const { return g[v].shape; }
  int dim(int64_t d, int rank) const;  // negative dims wrapped, range checked
  // A constant operand's data; fails where it is computed at run time.
  const Tensor& constant(ValueId v, std::string_view what) const;
  std::vector<float> floats(ValueId v, std::string_view what) const;

  // Adds a node; returns its (first) output, whose shape the operator's `infer` gives.
  ValueId emit(std::string op, std::vector<ValueId> in, std::map<std::string, Attr> attrs = {}, int outputs = 1);
  ValueId emit_constant(std::string name, Shape shape, const std::vector<float>& data);
  void result(ValueId v, int output = 0);  // what stands for the ATen node's output
  ValueId result_of(int output) const { return output < int(results_.size()) ? results_[size_t(output)] : kNone; }
  [[noreturn]] void fail(Code code, std::string message, std::string help = {}) const {
    corten::fail(g, n, code, std::move(message), std::move(help));
  }

 private:
  std::vector<Node>& emitted_;
  std::vector<ValueId> results_;
};

struct Claim {
  std::string_view aten;  // "aten.conv2d.default"
  void (*legalize)(Legalizer&);
};

// ---- quantise -----------------------------------------------------------------------------------------------------------

// Where an output's scale comes from when none is given.
enum class QuantRule {
  observed,  // its own range over the calibration data
  same,      // operand 0 and the outputs share one scale, over the union of their ranges: data movement, max pooling
  shared,    // all operands and the output share one scale (concat)
};

// ---- layout ------------------------------------------------------------------------------------------------------------

enum class LayoutRule {
  channels_last,  // rank 3 or 4, (N, C, ...) -> (N, ..., C) for operand 0 and the output
  elementwise,    // any order, the same for all operands and the output; Op::permute rewrites dims in attributes
  row_major,      // PyTorch's order only (view, linear)
  permutation,    // a transpose: attrs["perm"]
};

// ---- lowering to a step -------------------------------------------------------------------------------------------------

// One row of an operator's kernels.def; op.cc builds the table with CORTEN_KERNEL_ROW after declaring the functions.
struct KernelRow {
  Tier tier;
  std::string_view function;
  uint32_t id;
  KernelFn run;
  CheckFn check;
  std::string_view condition;  // under which it is usable, as kernels.def says it; for reports
};
#define CORTEN_DECLARE_KERNEL(tier, fn, ...) \
  extern "C" void fn(const KernelArgs*);     \
  extern "C" bool fn##_check(const CheckArgs*);
#define CORTEN_KERNEL_ROW(tier, fn, usable, ...) {Tier::tier, #fn, kernel_id(#fn), fn, fn##_check, #usable},

// What a part of a row's condition says, in words for people who know neither the code nor its names.
struct Term {
  std::string_view condition;    // as kernels.def says it; one side of its &&
  std::string_view needs;        // completes "this row needs ..."
  std::string_view facts = {};   // names of the step's facts to show beside it, separated by ", "
  std::string_view advice = {};  // what would make it hold, if anything but another layer
};
std::vector<std::string_view> parts_of(std::string_view condition);  // around its && outside parentheses

// What the terms speak of, with this step's values: {"kernel", "3x3"}.
using Facts = std::vector<std::pair<std::string_view, std::string>>;

// A row before the chosen one, and the terms that did not hold.
struct Unmet {
  std::string condition, needs, actual, advice;
};
struct SkippedRow {
  std::string_view kernel;
  Tier tier;
  std::string_view condition;
  std::vector<Unmet> unmet;
};

// A constant of a step; `offset_field` is where in the params its image offset is written (uint32).
struct Blob {
  std::vector<uint8_t> bytes;
  uint32_t offset_field;
};

// The kernel may write its output over this operand while it reads it, if the operand starts at least `distance` bytes after the
// output (or, exact, just there). Negative: the operand may even start before it.
struct Overlap {
  int operand = 0;
  int64_t distance = 0;
  bool exact = false;
  bool allows(int64_t operand_offset, int64_t output_offset) const {
    const int64_t d = operand_offset - output_offset;
    return exact ? d == distance : d >= distance;
  }
};

// One step, chosen and packed for a tier.
struct Lowered {
  std::string_view kernel;  // function name; empty: the output aliases operand 0 (views)
  std::vector<uint8_t> params;
  std::vector<Blob> blobs;
  uint32_t scratch_bytes = 0;
  std::vector<Overlap> overlaps;  // operands the output may lie over
  int64_t macs = 0;
  std::vector<SkippedRow> skipped;  // rows that the target could run, but for their condition
};

// What the user would rather have (--optimize). Rows ask for it through flags that the operator sets in its params.
enum class Goal : uint8_t { balanced, speed, ram, size };

struct LowerArgs {
  const Graph& g;
  const Node& n;
  Tier tier;
  Goal goal = Goal::balanced;
};

// ---- float execution -----------------------------------------------------------------------------------------------------

// Operands and results in PyTorch's order, float32, contiguous. Constants are operands like any other.
struct EvalArgs {
  const Graph& g;
  const Node& n;
  std::span<const float* const> in;  // nullptr for an absent optional
  std::span<float* const> out;
};

// Half-open facts other operators may hand over.
struct Clamp {
  double lo, hi;
};  // in real units; infinities allowed
struct Affine {
  std::vector<float> scale, shift;
};  // y = x * scale[c] + shift[c], c = dim 1 of PyTorch's order (dim -1 for linear)
struct Unary {
  std::vector<std::string> fns;
  std::vector<double> args;
};  // stages in order, two args each; see ops/lut/op.cc
struct Padding {
  std::vector<int64_t> before, after;
};  // zeros, per dim

// What int8 values a channel can take, whatever the program's input.
struct Interval {
  int lo = -128, hi = 127;
  bool constant() const { return lo == hi; }
};
using ChannelBounds = std::vector<Interval>;  // one per channel: dim 1 of PyTorch's order

// How a node's output channels come from those of operand 0. none: do not touch them.
enum class ChannelRole { none, dense, each_alone };

struct Op {
  std::string_view name;
  std::span<const Claim> claims = {};
  // Sets shape and dtype of the outputs from operands and attributes, in whatever order the operands are (see docs/ir.md:
  // attrs["layout"] == "nhwc" after the layout pass for channels_last operators).
  void (*infer)(Graph&, Node&) = nullptr;
  void (*eval)(const EvalArgs&) = nullptr;
  // Replaces float constants (weights, bias) by quantised ones, given operand 0's and the output's scales. Null: the quantize pass
  // quantises a float constant operand per tensor over its own range.
  void (*quantise_constants)(Graph&, Node&) = nullptr;
  // Picks the first usable row at or below the tier and packs; operands are int8 with quant, shapes physical.
  Lowered (*lower)(const LowerArgs&) = nullptr;
  LayoutRule layout = LayoutRule::elementwise;
  QuantRule quant = QuantRule::observed;
  std::optional<Quant> (*fixed_quant)(const Node&) = nullptr;      // goes before the rule: softmax, sigmoid, tanh
  void (*permute)(Node&, const std::vector<int>& perm) = nullptr;  // elementwise ops with dims in attributes
  std::span<const KernelRow> kernels = {};
  std::span<const Term> terms = {};  // of all conditions but `true`
  bool alias = false;                // output is operand 0's bytes
  bool in_place = false;             // output may overwrite operand 0 when it dies here (same element count)
  // Traits. as_*: this node is just that. absorb_*: take that in, or say no.
  std::optional<Quant> (*as_quantise)(const Graph&, const Node&) = nullptr;    // float -> int8 by this scale
  std::optional<Quant> (*as_dequantise)(const Graph&, const Node&) = nullptr;  // int8 (or an int32 bias) -> float by this scale
  std::optional<Clamp> (*as_clamp)(const Node&) = nullptr;
  std::optional<Affine> (*as_affine)(const Graph&, const Node&) = nullptr;
  std::optional<Padding> (*as_padding)(const Graph&, const Node&) = nullptr;
  std::optional<Unary> (*as_unary)(const Node&) = nullptr;
  // Of two operands x and f(x): the stages that make this node's output of f(x), x being kept (lut stage "times_kept").
  std::optional<Unary> (*as_unary_with_kept)(const Node&) = nullptr;
  bool (*absorb_unary)(Graph&, Node&, const Unary&) = nullptr;
  bool (*absorb_clamp)(Graph&, Node&, Clamp) = nullptr;
  bool (*absorb_affine)(Graph&, Node&, const Affine&) = nullptr;
  bool (*absorb_padding)(Graph&, Node&, const Padding&) = nullptr;
  // Channels that never change (compiler/prune.cc); quantised, in PyTorch's order. in: one per operand, null where nothing is
  // known.
  ChannelBounds (*bounds)(const Graph&, const Node&, std::span<const ChannelBounds* const> in) = nullptr;
  ChannelRole (*channel_role)(const Graph&, const Node&) = nullptr;
  // Keeps only these output channels (and, if each_alone, these of operand 0, whose shape has them already).
  void (*keep_outputs)(Graph&, Node&, const std::vector<int>& keep) = nullptr;
  // May channel c of operand 0 be left out, being `value` everywhere, with the bias taking its part?
  bool (*can_fold)(const Graph&, const Node&, int channel, int value) = nullptr;
  // Does so for all channels but those of `keep`; values[c] is that of channel c.
  void (*fold_inputs)(Graph&, Node&, const std::vector<int>& keep, const std::vector<int>& values) = nullptr;
  // Operand 0's last dimension arrives in another order: element j is what element index[j] was. (flatten after a spatial map)
  bool (*absorb_order)(Graph&, Node&, const std::vector<int64_t>& index) = nullptr;
};

std::span<const Op* const> all_ops();
const Op* find_op(std::string_view name);  // nullptr if none
const Op& op_of(const Node&);              // the node's operator; a bug if it has none
// For passes, which know operators by what they are: the first of ops.def that is such a one; a bug if there is none.
const Op& operator_that(bool (*is)(const Op&));

// All kernels, for the host's runtime: rows of every tier.
std::span<const KernelEntry> all_kernels();

// A clamp in real units -> quantised bounds under q, within [q.lo, q.hi].
void quantised_clamp(const Quant& q, Clamp c, int& lo, int& hi);
int32_t quantise_value(double real, const Quant& q);  // round half to even, as PyTorch does, clamped

// Small helpers for op.cc files.
template <class T>
std::vector<uint8_t> bytes_of(const T& v) {
  const auto* p = reinterpret_cast<const uint8_t*>(&v);
  return {p, p + sizeof v};
}
const Quant& quant_of(const Graph&, ValueId, const Node&);  // fails with a located message where a scale is missing
const KernelRow* row_named(std::span<const KernelRow>, std::string_view);
std::string short_text(double);                 // four digits
double factor_of(int32_t mult, int32_t shift);  // what a Scale multiplies by
Unmet unmet_term(std::span<const Term>, std::string_view condition, const Facts&);

}  // namespace corten
