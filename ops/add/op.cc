// add: a_coef * a + b_coef * b, broadcast; sub, and rsub of two tensors, too. With a number it is a table (lut).
#include "ops/add/constants.h"
#include "ops/legal.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/add/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/add/kernels.def"
#undef KERNEL
};
constexpr Choice<AddParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(AddParams, __VA_ARGS__)
#include "ops/add/kernels.def"
#undef KERNEL
};
constexpr Term kTerms[] = {
    {"has_unit_steps(p.shape)", "operands that lie densely along the innermost dimension, or repeat there", "innermost steps"},
    {"add_saturates(p)", "no activation fused in that clamps more narrowly than int8 does", "clamp"},
};

// out = self * self_coef + other * other_coef
void combine(Legalizer& l, double self_coef, double other_coef) {
  const Operand self = scalar_or_tensor(l, "self"), other = scalar_or_tensor(l, "other");
  if (self.is_number() && other.is_number()) {  // constants: folded
    result_stages(l, l.tensor("self"), Stages().times(self_coef).plus(other.number * other_coef));
  } else if (other.is_number()) {
    result_stages(l, self.value, Stages().times(self_coef).plus(other.number * other_coef));
  } else if (self.is_number()) {
    result_stages(l, other.value, Stages().times(other_coef).plus(self.number * self_coef));
  } else {
    const size_t rank = std::max(l.shape(self.value).size(), l.shape(other.value).size());
    const ValueId a = with_rank(l, self.value, rank), b = with_rank(l, other.value, rank);
    l.result(l.emit("add", {a, b}, {{"a_coef", self_coef}, {"b_coef", other_coef}}));
  }
}

void add(Legalizer& l) { combine(l, 1, l.n.real("alpha", 1)); }
void sub(Legalizer& l) { combine(l, 1, -l.n.real("alpha", 1)); }
void rsub(Legalizer& l) { combine(l, -l.n.real("alpha", 1), 1); }

constexpr Claim kClaims[] = {
    {"aten.add.Tensor", add},   {"aten.add_.Tensor", add},  {"aten.add.Scalar", add}, {"aten.add_.Scalar", add},
    {"aten.sub.Tensor", sub},   {"aten.sub_.Tensor", sub},  {"aten.sub.Scalar", sub}, {"aten.sub_.Scalar", sub},
    {"aten.rsub.Scalar", rsub}, {"aten.rsub.Tensor", rsub},
};

void infer(Graph& g, Node& n) { g[n.out[0]].shape = broadcast_shape(g, n); }

void eval(const EvalArgs& e) {
  const float a_coef = float(e.n.real("a_coef", 1)), b_coef = float(e.n.real("b_coef", 1));
  broadcast_eval(e, [=](float a, float b) { return a_coef * a + b_coef * b; });
}

Lowered lower(const LowerArgs& a) {
  const Scaled qa = scaled(a, a.n.in[0]), qb = scaled(a, a.n.in[1]), qy = scaled(a, a.n.out[0]);
  const Bounds b = bounds(a);
  AddParams p =
      make_add(qa.scale * a.n.real("a_coef", 1), qa.zero, qb.scale * a.n.real("b_coef", 1), qb.zero, qy.scale, qy.zero, b.lo, b.hi);
  p.shape = broadcast_loops(a);
  const Facts facts = {{"innermost steps", std::to_string(p.shape.a_stride[3]) + " and " + std::to_string(p.shape.b_stride[3])},
                       {"clamp", std::to_string(p.lo) + " to " + std::to_string(p.hi)}};
  return lowered(kRows, kChoices, a, p, facts);
}

}  // namespace

extern const Op op_add;
const Op op_add = {
    .name = "add",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .terms = kTerms,
    .in_place = true,
    .absorb_clamp = absorb_clamp_attrs,
};

}  // namespace corten
