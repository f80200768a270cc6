// mul: a * b, broadcast; division by constants too. With a number it is a table (lut).
#include "ops/legal.h"
#include "ops/mul/constants.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/mul/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/mul/kernels.def"
#undef KERNEL
};
constexpr Choice<MulParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(MulParams, __VA_ARGS__)
#include "ops/mul/kernels.def"
#undef KERNEL
};
constexpr Term kTerms[] = {
    {"mul_fits_mve(p)",
     "a factor (product of the input scales / output scale) below 1/2, and operands that lie densely along the innermost "
     "dimension, or "
     "repeat there",
     "factor, innermost steps"},
    {"p.scale.shift >= 1", "a factor (product of the input scales / output scale) below 1/2", "factor"},
};

// ---- claims ---------------------------------------------------------------------------------------------------------------

void product(Legalizer& l, ValueId a, ValueId b) {
  const size_t rank = std::max(l.shape(a).size(), l.shape(b).size());
  a = with_rank(l, a, rank), b = with_rank(l, b, rank);
  l.result(l.emit("mul", {a, b}));
}

void mul(Legalizer& l) {
  const Operand self = scalar_or_tensor(l, "self"), other = scalar_or_tensor(l, "other");
  if (other.is_number()) return result_stages(l, l.tensor("self"), Stages().times(other.number));
  if (self.is_number()) return result_stages(l, other.value, Stages().times(self.number));
  if (self.value == other.value) return result_stages(l, self.value, Stages().add("square"));
  product(l, self.value, other.value);
}

Stages& rounded(const Legalizer& l, Stages& s) {
  const std::string mode = l.n.text("rounding_mode");
  if (mode.empty()) return s;
  if (mode != "floor" && mode != "trunc") l.fail(Code::unsupported_use, "division has no rounding mode '" + mode + "'");
  return s.add(mode);
}

void div(Legalizer& l) {
  const Operand self = scalar_or_tensor(l, "self"), other = scalar_or_tensor(l, "other");
  Stages s;
  if (other.is_number()) {
    if (other.number == 0) l.fail(Code::unsupported_use, "division by the constant 0");
    return result_stages(l, l.tensor("self"), rounded(l, s.times(1 / other.number)));
  }
  if (self.is_number()) return result_stages(l, other.value, rounded(l, s.add("reciprocal").times(self.number)));
  if (l.n.has("rounding_mode"))
    l.fail(Code::unsupported_use, "division of two tensors with a rounding mode is not supported",
           "divide, then call floor or trunc");
  if (self.value == other.value) l.fail(Code::unsupported_use, "division of a tensor by itself");
  if (!l.g.is_constant(other.value)) return product(l, self.value, emit_stages(l, other.value, s.add("reciprocal")));
  std::vector<float> factors = l.floats(other.value, "divisor");
  for (float& f : factors) {
    if (f == 0) l.fail(Code::unsupported_use, "division by a constant that holds a 0");
    f = 1 / f;
  }
  product(l, self.value, l.emit_constant("reciprocal", l.shape(other.value), factors));
}

constexpr Claim kClaims[] = {
    {"aten.mul.Tensor", mul},      {"aten.mul_.Tensor", mul},     {"aten.mul.Scalar", mul}, {"aten.mul_.Scalar", mul},
    {"aten.div.Tensor", div},      {"aten.div_.Tensor", div},     {"aten.div.Scalar", div}, {"aten.div_.Scalar", div},
    {"aten.div.Tensor_mode", div}, {"aten.div.Scalar_mode", div},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

void infer(Graph& g, Node& n) { g[n.out[0]].shape = broadcast_shape(g, n); }

void eval(const EvalArgs& e) {
  broadcast_eval(e, [](float a, float b) { return a * b; });
}

Lowered lower(const LowerArgs& a) {
  const Scaled qa = scaled(a, a.n.in[0]), qb = scaled(a, a.n.in[1]), qy = scaled(a, a.n.out[0]);
  const Bounds b = bounds(a);
  MulParams p = make_mul(qa.scale, qa.zero, qb.scale, qb.zero, qy.scale, qy.zero, b.lo, b.hi);
  p.shape = broadcast_loops(a);
  const Facts facts = {{"factor", short_text(factor_of(p.scale.mult, p.scale.shift))},
                       {"innermost steps", std::to_string(p.shape.a_stride[3]) + " and " + std::to_string(p.shape.b_stride[3])}};
  return lowered(kRows, kChoices, a, p, facts);
}

// By a constant (1, C, 1, ...): a factor per channel.
std::optional<Affine> as_affine(const Graph& g, const Node& n) {
  const Shape& x = g[n.in[0]].shape;
  const Value& c = g[n.in[1]];
  if (has_clamp(n) || x.size() < 2 || g.is_constant(n.in[0]) || !c.data || c.data->dtype != DType::f32) return std::nullopt;
  Shape per_channel(x.size(), 1);
  per_channel[1] = x[1];
  if (c.shape != per_channel) return std::nullopt;
  const float* factor = c.data->as<float>();
  return Affine{{factor, factor + x[1]}, std::vector<float>(size_t(x[1]), 0.0f)};
}

std::optional<Unary> as_unary_with_kept(const Node& n) {
  Unary u = {{"times_kept"}, {0, 0}};
  if (has_clamp(n)) {
    const Clamp c = clamp_of(n);
    u.fns.push_back("clamp"), u.args.insert(u.args.end(), {c.lo, c.hi});
  }
  return u;
}

}  // namespace

extern const Op op_mul;
const Op op_mul = {
    .name = "mul",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .terms = kTerms,
    .in_place = true,
    .as_affine = as_affine,
    .as_unary_with_kept = as_unary_with_kept,
    .absorb_clamp = absorb_clamp_attrs,
};

}  // namespace corten
