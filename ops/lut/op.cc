// lut: any function of one value, as stages in a row: attrs fns (names) and args (two numbers per stage). One 256-entry table on
// the core, so a change of scale is a lut without stages. functions.h lists the stages.
#include "ops/legal.h"
#include "ops/lut/constants.h"
#include "ops/lut/functions.h"
#include "ops/lut/params.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/lut/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/lut/kernels.def"
#undef KERNEL
};
constexpr Choice<LutParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(LutParams, __VA_ARGS__)
#include "ops/lut/kernels.def"
#undef KERNEL
};
constexpr Term kTerms[] = {
    {"p.channels == 1", "one table for all channels", "tables"},
};

// ---- claims -----------------------------------------------------------------------------------------------------------------

ValueId input(const Legalizer& l) {
  const ValueId v = l.optional_tensor("self");
  return v != kNone ? v : l.tensor("input");
}

void unary(Legalizer& l, std::string fn, double a = 0, double b = 0) {
  result_stages(l, input(l), Stages().add(std::move(fn), a, b));
}

// One-line claims, named after ATen.
#define UNARY(claim, ...) \
  void claim(Legalizer& l) { unary(l, __VA_ARGS__); }
UNARY(relu, "clamp", 0, kInfinity)
UNARY(relu6, "clamp", 0, 6)
UNARY(hardtanh, "clamp", l.n.real("min_val", -1), l.n.real("max_val", 1))
UNARY(leaky_relu, "leaky_relu", l.n.real("negative_slope", 0.01))
UNARY(selu, "elu", 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
UNARY(celu, "celu", l.n.real("alpha", 1))
UNARY(silu, "silu")
UNARY(mish, "mish")
UNARY(hardswish, "hardswish")
UNARY(hardsigmoid, "hardsigmoid")
UNARY(sigmoid, "sigmoid")
UNARY(log_sigmoid, "logsigmoid")
UNARY(tanh_, "tanh")
UNARY(softplus, "softplus", l.n.real("beta", 1), l.n.real("threshold", 20))
UNARY(softsign, "softsign")
UNARY(hardshrink, "hardshrink", l.n.real("lambd", 0.5))
UNARY(softshrink, "softshrink", l.n.real("lambd", 0.5))
UNARY(threshold, "threshold", l.n.real("threshold"), l.n.real("value"))
UNARY(exp_, "exp")
UNARY(expm1_, "expm1")
UNARY(log_, "log")
UNARY(log1p_, "log1p")
UNARY(log2_, "log2")
UNARY(log10_, "log10")
UNARY(sqrt_, "sqrt")
UNARY(rsqrt, "rsqrt")
UNARY(reciprocal, "reciprocal")
UNARY(abs_, "abs")
UNARY(neg, "mul_scalar", -1)
UNARY(square, "square")
UNARY(sin_, "sin")
UNARY(cos_, "cos")
UNARY(erf_, "erf")
UNARY(floor_, "floor")
UNARY(ceil_, "ceil")
UNARY(trunc_, "trunc")
UNARY(sign, "sign")
#undef UNARY

void round_(Legalizer& l) {
  if (l.n.integer("decimals") != 0)
    l.fail(Code::unsupported_use, "round with decimals is not supported", "multiply, round and divide");
  unary(l, "round");
}

void gelu(Legalizer& l) {
  const std::string form = l.n.text("approximate", "none");
  if (form != "none" && form != "tanh") l.fail(Code::unsupported_use, "gelu has no form '" + form + "'");
  unary(l, form == "none" ? "gelu" : "gelu_tanh");
}

// elu(x) = scale * (x > 0 ? x : alpha * (exp(input_scale * x) - 1)), in terms of the stage on input_scale * x.
void elu(Legalizer& l) {
  const double alpha = l.n.real("alpha", 1), scale = l.n.real("scale", 1), input_scale = l.n.real("input_scale", 1);
  if (!(input_scale > 0)) l.fail(Code::unsupported_use, "elu with an input scale that is not positive is not supported");
  result_stages(l, input(l), Stages().times(input_scale).add("elu", alpha * input_scale, scale / input_scale));
}

// clamp, clamp_min, clamp_max, maximum and minimum with a number.
void clamp_to(Legalizer& l, ValueId x, double lo, double hi) { result_stages(l, x, Stages().add("clamp", lo, hi)); }

double bound(const Legalizer& l, std::string_view name, double missing) {
  if (l.optional_tensor(name) == kNone) return l.n.real(name, missing);
  const Operand o = scalar_or_tensor(l, name);
  if (!o.is_number())
    l.fail(Code::unsupported_use, "the bound '" + std::string(name) + "' of " + l.n.aten + " is a tensor",
           "bounds have to be numbers or constants of one element");
  return o.number;
}

void clamp(Legalizer& l) {
  double lo = bound(l, "min", -kInfinity);
  const double hi = bound(l, "max", kInfinity);
  lo = std::min(lo, hi);  // PyTorch: the upper bound wins
  clamp_to(l, input(l), lo, hi);
}

void extreme(Legalizer& l, bool larger) {
  const Operand self = scalar_or_tensor(l, "self"), other = scalar_or_tensor(l, "other");
  if (!self.is_number() && !other.is_number())
    l.fail(Code::unsupported_use, l.n.aten + " of two tensors computed at run time is not supported",
           larger ? "write relu(a - b) + b" : "write a - relu(a - b)");
  const double limit = other.is_number() ? other.number : self.number;
  const ValueId x = other.is_number() ? l.tensor("self") : other.value;
  clamp_to(l, x, larger ? limit : -kInfinity, larger ? kInfinity : limit);
}
void maximum(Legalizer& l) { extreme(l, true); }
void minimum(Legalizer& l) { extreme(l, false); }

Stages power(double exponent) {
  if (exponent == 1) return {};
  if (exponent == 2) return Stages().add("square");
  if (exponent == 0.5) return Stages().add("sqrt");
  if (exponent == -1) return Stages().add("reciprocal");
  if (exponent == -0.5) return Stages().add("rsqrt");
  return Stages().add("pow", exponent);
}

void pow_(Legalizer& l) {
  const Operand base = scalar_or_tensor(l, "self"), exponent = scalar_or_tensor(l, "exponent");
  if (exponent.is_number()) return result_stages(l, l.tensor("self"), power(exponent.number));
  if (!base.is_number())
    l.fail(Code::unsupported_use, "pow with an exponent computed at run time is not supported",
           "the exponent or the base has to be a number");
  if (!(base.number > 0))
    l.fail(Code::unsupported_use, "pow with the base " + std::to_string(base.number) + " is not supported",
           "the base has to be positive");
  result_stages(l, exponent.value, Stages().times(std::log(base.number)).add("exp"));
}

void prelu(Legalizer& l) {
  const ValueId x = input(l);
  const std::vector<float> slope = l.floats(l.tensor("weight"), "slope of prelu");
  if (slope.size() == 1) return result_stages(l, x, Stages().add("leaky_relu", slope[0]));
  l.result(l.emit("prelu", {x}, {{"slopes", std::vector<double>(slope.begin(), slope.end())}}));
}

#define BOTH(name, claim) \
  {"aten." name ".default", claim}, { "aten." name "_.default", claim }
constexpr Claim kClaims[] = {
    BOTH("relu", relu),
    BOTH("relu6", relu6),
    BOTH("hardtanh", hardtanh),
    BOTH("leaky_relu", leaky_relu),
    BOTH("elu", elu),
    BOTH("selu", selu),
    BOTH("celu", celu),
    BOTH("gelu", gelu),
    BOTH("silu", silu),
    BOTH("mish", mish),
    BOTH("hardswish", hardswish),
    BOTH("hardsigmoid", hardsigmoid),
    BOTH("sigmoid", sigmoid),
    BOTH("tanh", tanh_),
    BOTH("exp", exp_),
    BOTH("expm1", expm1_),
    BOTH("log", log_),
    BOTH("log1p", log1p_),
    BOTH("log2", log2_),
    BOTH("log10", log10_),
    BOTH("sqrt", sqrt_),
    BOTH("rsqrt", rsqrt),
    BOTH("reciprocal", reciprocal),
    BOTH("abs", abs_),
    BOTH("neg", neg),
    BOTH("square", square),
    BOTH("sin", sin_),
    BOTH("cos", cos_),
    BOTH("erf", erf_),
    BOTH("floor", floor_),
    BOTH("ceil", ceil_),
    BOTH("trunc", trunc_),
    BOTH("round", round_),
    BOTH("sign", sign),
    BOTH("clamp", clamp),
    BOTH("clamp_min", clamp),
    BOTH("clamp_max", clamp),
    BOTH("threshold", threshold),
    {"aten.round.decimals", round_},
    {"aten.clamp.Tensor", clamp},
    {"aten.clamp_min.Tensor", clamp},
    {"aten.clamp_max.Tensor", clamp},
    {"aten.log_sigmoid.default", log_sigmoid},
    {"aten.log_sigmoid_forward.default", log_sigmoid},
    {"aten.softplus.default", softplus},
    {"aten.softsign.default", softsign},
    {"aten.hardshrink.default", hardshrink},
    {"aten.softshrink.default", softshrink},
    {"aten.maximum.default", maximum},
    {"aten.minimum.default", minimum},
    {"aten.max.other", maximum},
    {"aten.min.other", minimum},
    {"aten.pow.Tensor_Scalar", pow_},
    {"aten.pow_.Scalar", pow_},
    {"aten.pow.Scalar", pow_},
    {"aten.pow.Tensor_Tensor", pow_},
    {"aten.prelu.default", prelu},
    {"aten._prelu_kernel.default", prelu},
};
#undef BOTH

// ---- shape and float execution ------------------------------------------------------------------------------------------------

void infer(Graph& g, Node& n) {
  const std::vector<std::string> fns = n.texts("fns");
  if (n.reals("args").size() != 2 * fns.size())
    fail(g, n, Code::unsupported_use, "lut needs two numbers in args for each stage in fns");
  for (const std::string& fn : fns)
    if (fn != "keep" && fn != "times_kept" && !lut_function(fn)) fail(g, n, Code::unsupported_use, "lut has no stage '" + fn + "'");
  g[n.out[0]].shape = g[n.in[0]].shape;
}

void eval(const EvalArgs& e) {
  constexpr int64_t kBlock = 1024;  // all stages on a block while it is near
  const std::vector<std::string> fns = e.n.texts("fns");
  const std::vector<double> args = e.n.reals("args");
  const int64_t count = elements(e.g[e.n.out[0]].shape);
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
    float* y = e.out[0] + at;
    std::copy_n(e.in[0] + at, n, y);
    float kept[kBlock];
    for (size_t s = 0; s < fns.size(); s++) {
      if (fns[s] == "keep")
        std::copy_n(y, n, kept);
      else if (fns[s] == "times_kept")
        for (int64_t i = 0; i < n; i++) y[i] *= kept[i];
      else
        lut_function(fns[s])->on_floats(y, n, float(args[2 * s]), float(args[2 * s + 1]));
    }
  }
}

// ---- traits ---------------------------------------------------------------------------------------------------------------------

std::optional<Unary> as_unary(const Node& n) { return Unary{n.texts("fns"), n.reals("args")}; }

std::optional<Clamp> as_clamp(const Node& n) {
  const std::vector<std::string> fns = n.texts("fns");
  const std::vector<double> args = n.reals("args");
  if (fns.empty()) return std::nullopt;
  Clamp all = {-kInfinity, kInfinity};
  for (size_t s = 0; s < fns.size(); s++) {
    if (fns[s] != "clamp") return std::nullopt;
    all = chained(all, {args[2 * s], args[2 * s + 1]});
  }
  return all;
}

// One factor and term for all channels, dim 1.
std::optional<Affine> as_affine(const Graph& g, const Node& n) {
  const std::vector<std::string> fns = n.texts("fns");
  const std::vector<double> args = n.reals("args");
  const Shape& shape = g[n.in[0]].shape;
  if (fns.empty() || shape.size() < 2) return std::nullopt;
  double scale = 1, shift = 0;
  for (size_t s = 0; s < fns.size(); s++) {
    if (fns[s] == "mul_scalar") {
      scale *= args[2 * s], shift *= args[2 * s];
    } else if (fns[s] == "add_scalar") {
      shift += args[2 * s];
    } else {
      return std::nullopt;
    }
  }
  return Affine{std::vector<float>(size_t(shape[1]), float(scale)), std::vector<float>(size_t(shape[1]), float(shift))};
}

// "times_kept" multiplies by what "keep" saw: the chain's own start here, so only one of them fits into a chain.
bool absorb_unary(Graph&, Node& n, const Unary& u) {
  std::vector<std::string> fns = n.texts("fns");
  std::vector<double> args = n.reals("args");
  if (!u.fns.empty() && u.fns[0] == "times_kept") {
    if (std::find(fns.begin(), fns.end(), "keep") != fns.end()) return false;
    fns.insert(fns.begin(), "keep"), args.insert(args.begin(), 2, 0.0);
  }
  fns.insert(fns.end(), u.fns.begin(), u.fns.end());
  args.insert(args.end(), u.args.begin(), u.args.end());
  n.attrs["fns"] = std::move(fns), n.attrs["args"] = std::move(args);
  return true;
}

bool absorb_clamp(Graph& g, Node& n, Clamp c) { return absorb_unary(g, n, {{"clamp"}, {c.lo, c.hi}}); }

std::optional<Quant> fixed_quant(const Node& n) {
  const std::vector<std::string> fns = n.texts("fns");
  if (fns.empty()) return std::nullopt;
  if (fns.back() == "sigmoid" || fns.back() == "hardsigmoid") return Quant{{1.0 / 256}, {-128}};
  if (fns.back() == "tanh") return Quant{{1.0 / 128}, {0}};
  return std::nullopt;
}

// One table per channel (the last dim), or one for all: f(x, channel).
template <class F>
Lowered table_step(const LowerArgs& a, int64_t channels, F f) {
  const Scaled x = scaled(a, a.n.in[0]), y = scaled(a, a.n.out[0]);
  const Bounds b = bounds(a);
  LutParams p = {uint32_t(elements(a.g[a.n.out[0]].shape)), uint32_t(channels), 0};
  Lowered step = lowered(kRows, kChoices, a, p, {{"tables", std::to_string(p.channels)}});
  Blob tables = {std::vector<uint8_t>(size_t(channels) * 256), offsetof(LutParams, table)};
  for (int64_t c = 0; c < channels; c++) {
    auto* table = reinterpret_cast<int8_t*>(tables.bytes.data() + c * 256);
    make_lut([&](double v) { return f(v, c); }, x.scale, x.zero, y.scale, y.zero, b.lo, b.hi, table);
  }
  step.blobs.push_back(std::move(tables));
  return step;
}

Lowered lower(const LowerArgs& a) {
  const std::vector<std::string> fns = a.n.texts("fns");
  const std::vector<double> args = a.n.reals("args");
  return table_step(a, 1, [&](double v, int64_t) {
    double kept = 0;
    for (size_t s = 0; s < fns.size(); s++) {
      if (fns[s] == "keep")
        kept = v;
      else
        v = fns[s] == "times_kept" ? v * kept : lut_function(fns[s])->on_double(v, args[2 * s], args[2 * s + 1]);
    }
    return v;
  });
}

// ---- prelu with a slope per channel: attrs slopes; dim 1 in PyTorch's order, the last one on the core ---------------------------

int64_t prelu_channels(const Graph& g, const Node& n) {
  const Shape& s = g[n.in[0]].shape;
  return s.size() < 2 || is_nhwc(n) ? s.back() : s[1];
}

void infer_prelu(Graph& g, Node& n) {
  const Shape& s = g[n.in[0]].shape;
  const size_t slopes = n.reals("slopes").size();
  if (s.empty() || s.size() > 4 || prelu_channels(g, n) != int64_t(slopes))
    fail(g, n, Code::unsupported_use, "prelu has " + std::to_string(slopes) + " slopes for a tensor of shape " + to_text(s));
  g[n.out[0]].shape = s;
}

void eval_prelu(const EvalArgs& e) {
  const Shape& s = e.g[e.n.in[0]].shape;
  const std::vector<double> slopes = e.n.reals("slopes");
  int64_t inner = 1;
  for (size_t d = 2; d < s.size(); d++) inner *= s[d];
  const int64_t count = elements(s), channels = int64_t(slopes.size());
  for (int64_t i = 0; i < count; i++) {
    const float x = e.in[0][i];
    e.out[0][i] = x > 0 ? x : x * float(slopes[size_t(i / inner % channels)]);
  }
  clamp_values(e.n, e.out[0], count);
}

Lowered lower_prelu(const LowerArgs& a) {
  const std::vector<double> slopes = a.n.reals("slopes");
  return table_step(a, int64_t(slopes.size()), [&](double v, int64_t c) { return v > 0 ? v : v * slopes[size_t(c)]; });
}

}  // namespace

extern const Op op_lut;
const Op op_lut = {
    .name = "lut",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::observed,
    .fixed_quant = fixed_quant,
    .kernels = kRows,
    .terms = kTerms,
    .in_place = true,
    .as_clamp = as_clamp,
    .as_affine = as_affine,
    .as_unary = as_unary,
    .absorb_unary = absorb_unary,
    .absorb_clamp = absorb_clamp,
};

extern const Op op_prelu;
const Op op_prelu = {
    .name = "prelu",
    .claims = {},
    .infer = infer_prelu,
    .eval = eval_prelu,
    .lower = lower_prelu,
    .layout = LayoutRule::channels_last,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .terms = kTerms,
    .in_place = true,
    .absorb_clamp = absorb_clamp_attrs,
};

}  // namespace corten
