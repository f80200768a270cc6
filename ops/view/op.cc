// view: the same bytes under another shape, and everything in ATen that only renames a tensor. Attribute: shape.
#include "ops/legal.h"

namespace corten {
namespace {

// ---- claims ---------------------------------------------------------------------------------------------------------------

ValueId input(const Legalizer& l) { return l.optional_tensor("self") != kNone ? l.tensor("self") : l.tensor("input"); }

void view(Legalizer& l) { l.result(reshaped(l, input(l), result_shape(l))); }

void nothing(Legalizer& l) { l.result(input(l)); }

void assertion(Legalizer&) {}

bool is_float(DType t) { return t == DType::f32 || t == DType::f64 || t == DType::f16 || t == DType::bf16; }

// Another type or device: nothing between floating-point types, since everything runs as float32 or as what it is quantised to.
void convert(Legalizer& l) {
  const ValueId x = input(l);
  const DType from = l.g[x].dtype, to = l.g[l.n.out[0]].dtype;
  if (from == to || (is_float(from) && is_float(to))) return l.result(x);
  if (l.g.is_constant(x) && is_float(to)) return l.result(l.emit_constant("float", l.shape(x), l.floats(x, "operand")));
  l.fail(Code::unsupported_dtype,
         "conversion from " + std::string(to_text(from)) + " to " + std::string(to_text(to)) + " at run time is not supported",
         "pass floating-point inputs and keep integers out of the computation");
}

void dropout(Legalizer& l) {
  if (l.n.flag("train") && l.n.real("p", 0.5) != 0)
    l.fail(Code::train_mode, "dropout is active: it draws random numbers at run time",
           "the model was exported in training mode: call model.eval() before torch.export");
  nothing(l);
}

constexpr Claim kClaims[] = {
    {"aten.view.default", view},
    {"aten.view_copy.default", view},
    {"aten.view_as.default", view},
    {"aten.reshape.default", view},
    {"aten.reshape_as.default", view},
    {"aten._unsafe_view.default", view},
    {"aten._reshape_alias.default", view},
    {"aten.flatten.using_ints", view},
    {"aten.unflatten.int", view},
    {"aten.ravel.default", view},
    {"aten.squeeze.default", view},
    {"aten.squeeze.dim", view},
    {"aten.squeeze.dims", view},
    {"aten.squeeze_copy.default", view},
    {"aten.squeeze_copy.dim", view},
    {"aten.squeeze_copy.dims", view},
    {"aten.unsqueeze.default", view},
    {"aten.unsqueeze_copy.default", view},
    {"aten.atleast_1d.default", view},
    {"aten.clone.default", nothing},
    {"aten.contiguous.default", nothing},
    {"aten.detach.default", nothing},
    {"aten.detach_.default", nothing},
    {"aten.detach_copy.default", nothing},
    {"aten.alias.default", nothing},
    {"aten.alias_copy.default", nothing},
    {"aten.lift_fresh.default", nothing},
    {"aten.lift_fresh_copy.default", nothing},
    {"aten.positive.default", nothing},
    {"aten.to.dtype", convert},
    {"aten.to.dtype_layout", convert},
    {"aten.to.device", convert},
    {"aten.to.other", convert},
    {"aten.to.prim_Device", convert},
    {"aten._to_copy.default", convert},
    {"aten.type_as.default", convert},
    {"aten.dropout.default", dropout},
    {"aten.dropout_.default", dropout},
    {"aten.native_dropout.default", dropout},
    {"aten.feature_dropout.default", dropout},
    {"aten.feature_dropout_.default", dropout},
    {"aten.alpha_dropout.default", dropout},
    {"aten.feature_alpha_dropout.default", dropout},
    {"aten._assert_tensor_metadata.default", assertion},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

void infer(Graph& g, Node& n) {
  const Shape out = n.ints("shape");
  if (elements(out) != elements(g[n.in[0]].shape))
    fail(g, n, Code::unsupported_use, to_text(g[n.in[0]].shape) + " does not have the elements of " + to_text(out));
  g[n.out[0]].shape = out;
}

void eval(const EvalArgs& e) { std::copy_n(e.in[0], elements(e.g[e.n.out[0]].shape), e.out[0]); }

Lowered lower(const LowerArgs& a) {
  same_scale(a);
  return {};
}

// (N, C, 1, ..) as (N, C) and the like: channels stay what they are.
ChannelRole channel_role(const Graph& g, const Node& n) {
  const Shape &in = g[n.in[0]].shape, out = n.ints("shape");
  const bool same = in.size() >= 2 && out.size() >= 2 && in[0] == out[0] && in[1] == out[1] && elements(in) == in[0] * in[1];
  return same ? ChannelRole::each_alone : ChannelRole::none;
}

ChannelBounds bounds(const Graph& g, const Node& n, std::span<const ChannelBounds* const> in) {
  return in[0] && channel_role(g, n) == ChannelRole::each_alone ? *in[0] : ChannelBounds{};
}

void keep_outputs(Graph&, Node& n, const std::vector<int>& keep) {
  std::vector<int64_t> shape = n.ints("shape");
  shape[1] = int64_t(keep.size());
  n.attrs["shape"] = shape;
}

}  // namespace

extern const Op op_view;
const Op op_view = {
    .name = "view",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::row_major,
    .quant = QuantRule::same,
    .kernels = {},
    .alias = true,
    .bounds = bounds,
    .channel_role = channel_role,
    .keep_outputs = keep_outputs,
};

}  // namespace corten
