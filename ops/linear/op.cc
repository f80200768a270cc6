// linear on the host: y = x W^T + b over the last dimension, any rank.
//
// Operands: x (..., I); weight (O, I); bias (O) or none. Attributes: clamp_lo, clamp_hi.
#include <algorithm>
#include <limits>

#include "ops/legal.h"
#include "ops/linear/packings.h"

namespace corten {

namespace {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/linear/kernels.def"
#undef KERNEL
constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/linear/kernels.def"
#undef KERNEL
};

struct LinearChoice : Choice<LinearParams> {
  const LinearPacking* packing;
};
constexpr LinearChoice kChoices[] = {
#define KERNEL(tier, fn, usable, scratch, packing) \
  {{CORTEN_CONDITION(LinearParams, usable), CORTEN_SCRATCH(LinearParams, scratch)}, &packing},
#include "ops/linear/kernels.def"
#undef KERNEL
};
constexpr Term kTerms[] = {
    {"p.flags & kLinearShiftsPositive", "every output's factor (input scale * weight scale / output scale) to be below 1/2",
     "largest factor", "an output range that is very narrow beside the inputs' causes this; look at this layer's calibration"},
    {"p.flags & kLinearDspExact", "no weight of -128, and every output's scaling to be exact with one 32-bit multiplication",
     "weights of -128, largest factor", "if there are weights of -128: quantise to -127..127 (weight_qmin=-127)"},
    {"p.flags & kLinearForSpeed", "optimize='speed', since it spends flash for speed", "", "compile with optimize='speed'"},
    {"!(p.flags & kLinearForRam)", "another goal than optimize='ram', since it needs scratch", "",
     "compile with another optimize="},
    {"linear_scalar_usable(p)",
     "no weight of -128, scaling exact with one 32-bit multiplication, and at most 5 % (or 512 bytes) of the weights spent on "
     "rounding the "
     "inputs up to a multiple of 4",
     "inputs, outputs, weights of -128", "make the number of inputs a multiple of 4"},
};

void legalize_linear(Legalizer& l) {
  const ValueId x = l.tensor("input"), w = l.tensor("weight"), bias = l.optional_tensor("bias");
  l.constant(w, "weight");
  l.result(l.emit("linear", {x, w, bias}));
}

// A (in, out) matrix constant as linear's (out, in) weight.
ValueId transposed_weight(Legalizer& l, ValueId m) {
  const Tensor& t = l.constant(m, "second matrix");
  if (t.shape.size() != 2) l.fail(Code::unsupported_use, "second matrix of shape " + to_text(t.shape) + " is not 2-dimensional");
  const auto quant = l.g[m].quant;
  const ValueId w = l.g.add_constant(l.g[m].name + ".t", transposed(t, {1, 0}));
  if (quant) {
    l.g[w].quant = quant;
    if (quant->axis >= 0) l.g[w].quant->axis = 1 - quant->axis;
  }
  return w;
}

// addmm(bias, x, m): beta * bias + alpha * x @ m
void legalize_addmm(Legalizer& l) {
  if (l.n.real("beta", 1) != 1 || l.n.real("alpha", 1) != 1)
    l.fail(Code::unsupported_use, "addmm with alpha or beta is not supported", "use nn.Linear");
  const ValueId bias = l.tensor("self"), x = l.tensor("mat1"), w = transposed_weight(l, l.tensor("mat2"));
  if (elements(l.shape(bias)) != l.shape(w)[0])
    l.fail(Code::unsupported_use, "a bias of shape " + to_text(l.shape(bias)) + " is not one value per output", "use nn.Linear");
  l.constant(bias, "bias");
  l.result(l.emit("linear", {x, w, bias}));
}

void legalize_mm(Legalizer& l) {
  const ValueId x = l.tensor("self"), m = l.optional_tensor("mat2") != kNone ? l.tensor("mat2") : l.tensor("other");
  l.result(l.emit("linear", {x, transposed_weight(l, m), kNone}));
}

constexpr Claim kClaims[] = {
    {"aten.linear.default", legalize_linear},
    {"aten.addmm.default", legalize_addmm},
    {"aten.mm.default", legalize_mm},
    {"aten.matmul.default", legalize_mm},
};

void infer(Graph& g, Node& n) {
  const Shape &x = g[n.in[0]].shape, &w = g[n.in[1]].shape;
  if (x.empty() || w.size() != 2 || x.back() != w[1])
    fail(g, n, Code::unsupported_use, "input " + to_text(x) + " does not fit a weight of shape " + to_text(w));
  if (n.in.size() > 2 && n.in[2] != kNone && elements(g[n.in[2]].shape) != w[0])
    fail(g, n, Code::unsupported_use, "bias of shape " + to_text(g[n.in[2]].shape) + " for " + std::to_string(w[0]) + " outputs");
  Shape out = x;
  out.back() = w[0];
  g[n.out[0]].shape = out;
}

void eval(const EvalArgs& a) {
  const int64_t in = a.g[a.n.in[0]].shape.back(), out = a.g[a.n.in[1]].shape[0], rows = elements(a.g[a.n.in[0]].shape) / in;
  const Clamp c = clamp_of(a.n);
  const float* bias = a.in.size() > 2 ? a.in[2] : nullptr;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t o = 0; o < out; o++) {
      const float *x = a.in[0] + r * in, *w = a.in[1] + o * in;
      float part[8] = {};
      int64_t i = 0;
      for (; i + 8 <= in; i += 8)
        for (int64_t j = 0; j < 8; j++) part[j] += x[i + j] * w[i + j];
      float sum = (part[0] + part[4]) + (part[1] + part[5]) + ((part[2] + part[6]) + (part[3] + part[7]));
      for (; i < in; i++) sum += x[i] * w[i];
      sum += bias ? bias[o] : 0.0f;
      a.out[0][r * out + o] = std::min(std::max(sum, float(c.lo)), float(c.hi));
    }
}

bool absorb_clamp(Graph&, Node& n, Clamp c) { return intersect_clamp(n, c); }

bool absorb_affine(Graph& g, Node& n, const Affine& a) {
  if (has_clamp(n) || g[n.in[1]].quant || g[n.out[0]].shape.size() != 2) return false;  // channel dim 1 is the last only at rank 2
  return scale_outputs(g, n, a);
}

bool absorb_order(Graph& g, Node& n, const std::vector<int64_t>& index) {
  const Value w = g[n.in[1]];
  const int64_t out = w.shape[0], in = w.shape[1];
  if (!w.data || int64_t(index.size()) != in) return false;
  const int64_t size = size_of(w.data->dtype);
  auto reordered = std::make_shared<Tensor>(*w.data);
  for (int64_t o = 0; o < out; o++)
    for (int64_t i = 0; i < in; i++)
      std::copy_n(w.data->bytes.begin() + (o * in + index[size_t(i)]) * size, size, reordered->bytes.begin() + (o * in + i) * size);
  const auto quant = w.quant;
  n.in[1] = g.add_constant(w.name + ".order." + n.name, reordered);
  g[n.in[1]].quant = quant;
  return true;
}

// Channels are dim 1, which is linear's last one at rank 2.
ChannelRole channel_role(const Graph& g, const Node& n) {
  return g[n.in[0]].shape.size() == 2 ? ChannelRole::dense : ChannelRole::none;
}

ChannelBounds bounds(const Graph& g, const Node& n, std::span<const ChannelBounds* const> in) {
  return channel_role(g, n) == ChannelRole::dense ? weight_bounds(g, n, in[0], {}) : ChannelBounds{};
}

bool can_fold(const Graph&, const Node&, int, int) { return true; }

Lowered lower(const LowerArgs& a) {
  const Shape &x = a.g[a.n.in[0]].shape, &w = a.g[a.n.in[1]].shape;
  LinearParams p = {};
  p.in = uint32_t(w[1]), p.out = uint32_t(w[0]), p.rows = uint32_t(elements(x) / w[1]);
  const WeightTables t = weight_tables(a.g, a.n, w[1]);
  p.in_zero = int8_t(t.in_zero), p.out_zero = int8_t(t.out_zero), p.lo = int8_t(t.lo), p.hi = int8_t(t.hi);
  p.flags =
      (t.shifts_positive ? kLinearShiftsPositive : 0u) | (t.acc30 ? kLinearAcc30 : 0u) | (t.per_tensor ? kLinearPerTensor : 0u);
  const LinearSource source = {t.weights.data(), t.bias.data(), t.mult.data(), t.shift.data()};
  p.flags |= linear_dsp_facts(p, source);
  p.flags |= a.goal == Goal::speed  ? kLinearForSpeed
             : a.goal == Goal::ram  ? kLinearForRam
             : a.goal == Goal::size ? kLinearForSize
                                    : 0u;
  const Facts facts = {{"inputs", std::to_string(p.in)},
                       {"outputs", std::to_string(p.out)},
                       {"weights of -128", std::to_string(std::count(t.weights.begin(), t.weights.end(), -128))},
                       {"largest factor", largest_factor(t)}};
  Lowered step;
  const LinearChoice& choice = choose(kRows, kChoices, a, p, facts, step);
  step.macs = int64_t(p.rows) * p.in * p.out;
  pack(step, p, *choice.packing, source);
  return step;
}

}  // namespace

extern const Op op_linear;
const Op op_linear = {
    .name = "linear",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .quantise_constants = quantise_weights,
    .lower = lower,
    .layout = LayoutRule::row_major,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .terms = kTerms,
    .absorb_clamp = absorb_clamp,
    .absorb_affine = absorb_affine,
    .bounds = bounds,
    .channel_role = channel_role,
    .keep_outputs = keep_weight_outputs,
    .can_fold = can_fold,
    .fold_inputs = fold_weight_inputs,
    .absorb_order = absorb_order,
};

}  // namespace corten
