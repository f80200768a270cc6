// quantize and dequantize: the pairs that PT2E leaves in a program. Attributes: scale, zero, lo, hi; unsigned types are shifted to
// int8. Constants are handled where the pair is claimed: a dequantised one stays int8 (a bias: int32) and carries its scale.
#include "ops/legal.h"
#include "ops/quantize/constants.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/quantize/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/quantize/kernels.def"
#undef KERNEL
};
constexpr Choice<QuantizeParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(QuantizeParams, __VA_ARGS__)
#include "ops/quantize/kernels.def"
#undef KERNEL
};
constexpr Term kTerms[] = {
    {"p.dequantize == 0", "a conversion to int8"},
    {"p.dequantize == 1", "a conversion to float32"},
};

// ---- claims ---------------------------------------------------------------------------------------------------------------

// Scale and zero point as the ATen node gives them, and what was subtracted to come from uint8 to int8.
struct Given {
  Quant quant;
  int shift = 0;
};

std::vector<double> real_values(const Legalizer& l, ValueId v, std::string_view what) {
  const Tensor& t = l.constant(v, what);
  if (t.dtype == DType::f64) return {t.as<double>(), t.as<double>() + elements(t.shape)};
  const std::vector<float> f = l.floats(v, what);
  return {f.begin(), f.end()};
}

void read_scales(const Legalizer& l, Quant& q, std::string_view scale_name, std::string_view zero_name, int64_t count) {
  const ValueId scale = l.optional_tensor(scale_name), zero = l.optional_tensor(zero_name);
  q.scale = scale == kNone ? std::vector<double>{l.n.real(scale_name)} : real_values(l, scale, "scale");
  q.zero.assign(q.scale.size(), int32_t(l.n.integer(zero_name, 0)));
  if (zero != kNone) {
    const std::vector<double> zeros = real_values(l, zero, "zero point");
    q.zero.assign(zeros.begin(), zeros.end());
  }
  if (int64_t(q.scale.size()) != count || q.zero.size() != q.scale.size())
    l.fail(Code::bad_scales,
           std::to_string(q.scale.size()) + " scales and " + std::to_string(q.zero.size()) + " zero points where " +
               std::to_string(count) + " are needed",
           "if this is from convert_pt2e: calibrate the prepared model first, corten.calibrate(prepared, loader)");
  for (double s : q.scale)
    if (!(s > 0) || !std::isfinite(s)) l.fail(Code::bad_scales, "a scale of " + std::to_string(s) + " is not positive and finite");
}

Given given(const Legalizer& l, ValueId x) {
  Given r;
  const int64_t lo = l.n.integer("quant_min", -128), hi = l.n.integer("quant_max", 127);
  if (lo < INT32_MIN || hi > INT32_MAX || lo > hi)
    l.fail(Code::bad_scales, "a range of " + std::to_string(lo) + " to " + std::to_string(hi) + " is not possible");
  r.quant.lo = int(lo), r.quant.hi = int(hi);
  if (l.n.op.find("per_channel") != std::string::npos) {
    r.quant.axis = l.dim(l.n.integer("axis"), int(l.shape(x).size()));
    read_scales(l, r.quant, "scales", "zero_points", l.shape(x).at(size_t(r.quant.axis)));
  } else {
    read_scales(l, r.quant, "scale", "zero_point", 1);
  }
  if (lo >= 0 && hi > 127 && hi <= 255) r.shift = 128;
  for (int32_t& z : r.quant.zero) z -= r.shift;
  r.quant.lo -= r.shift, r.quant.hi -= r.shift;
  return r;
}

bool fits_int8(const Quant& q) { return q.lo >= -128 && q.hi <= 127; }

std::map<std::string, Attr> attributes(const Legalizer& l, const Given& r) {
  const Quant& q = r.quant;
  if (!fits_int8(q))
    l.fail(Code::bad_scales,
           "activations quantised to " + std::to_string(q.lo) + " ... " + std::to_string(q.hi) + " are not supported",
           "quantise them to int8 or uint8");
  if (q.axis >= 0)
    l.fail(Code::bad_scales, "activations with a scale per channel are not supported",
           "quantise activations per tensor, weights per channel");
  if (q.zero[0] < -128 || q.zero[0] > 127)
    l.fail(Code::bad_scales, "zero point " + std::to_string(q.zero[0]) + " is outside int8", "use a range that includes 0");
  return {{"scale", q.scale[0]}, {"zero", int64_t(q.zero[0])}, {"lo", int64_t(q.lo)}, {"hi", int64_t(q.hi)}};
}

// PyTorch's arithmetic: float32, by the inverse of the scale, half to even.
float quantised(float x, double scale, int32_t zero, int lo, int hi) {
  const float q = std::nearbyint(x * float(1.0 / scale)) + float(zero);
  return std::min(std::max(q, float(lo)), float(hi));
}

// Which scale element i of a constant has.
struct Channels {
  int64_t inner = 1, extent = 1;
  Channels(const Shape& s, int axis) {
    if (axis < 0) return;
    extent = s[size_t(axis)];
    for (size_t d = size_t(axis) + 1; d < s.size(); d++) inner *= s[d];
  }
  size_t of(int64_t i) const { return size_t(i / inner % extent); }
};

ValueId integer_constant(Legalizer& l, const std::string& name, const Shape& shape, const std::vector<int32_t>& data, bool int8) {
  auto t = make_tensor(int8 ? DType::i8 : DType::i32, shape);
  for (size_t i = 0; i < data.size(); i++) {
    if (int8)
      t->as<int8_t>()[i] = int8_t(data[i]);
    else
      t->as<int32_t>()[i] = data[i];
  }
  return l.g.add_constant(l.n.name + "." + name, t);
}

void quantize(Legalizer& l) {
  const ValueId x = l.tensor("input");
  const Given r = given(l, x);
  if (!l.g.is_constant(x)) return l.result(l.emit("quantize", {x}, attributes(l, r)));
  const Quant& q = r.quant;
  const Channels channels(l.shape(x), q.axis);
  std::vector<int32_t> data;
  for (float v : l.floats(x, "operand")) {
    const size_t c = channels.of(int64_t(data.size()));
    data.push_back(int32_t(quantised(v, q.scale[c], q.zero[c], q.lo, q.hi)));
  }
  l.result(integer_constant(l, "int", l.shape(x), data, fits_int8(q)));
}

// The integers of a constant, uint8 shifted; another type fails.
std::vector<int32_t> integers(const Legalizer& l, ValueId v, int shift) {
  const Tensor& t = l.constant(v, "operand");
  const auto copy = [&](const auto* from, int less) {
    std::vector<int32_t> data;
    for (int64_t i = 0; i < elements(t.shape); i++) data.push_back(int32_t(from[i]) - less);
    return data;
  };
  switch (t.dtype) {
    case DType::i8:
      return copy(t.as<int8_t>(), 0);
    case DType::u8:
      return copy(t.as<uint8_t>(), shift);
    case DType::i16:
      return copy(t.as<int16_t>(), 0);
    case DType::i32:
      return copy(t.as<int32_t>(), 0);
    default:
      l.fail(Code::bad_scales, "dequantising a constant of type " + std::string(to_text(t.dtype)) + " is not supported");
  }
}

void dequantize(Legalizer& l) {
  const ValueId x = l.tensor("input");
  const Given r = given(l, x);
  if (!l.g.is_constant(x)) return l.result(l.emit("dequantize", {x}, attributes(l, r)));
  const bool int8 = fits_int8(r.quant);
  std::vector<int32_t> data = integers(l, x, r.shift);
  for (int32_t q : data)
    if (q < r.quant.lo || q > r.quant.hi)
      l.fail(Code::bad_scales, "constant '" + l.g[x].name + "' holds " + std::to_string(q) + ", outside its range of " +
                                   std::to_string(r.quant.lo) + " to " + std::to_string(r.quant.hi));
  const ValueId v = integer_constant(l, "dequantized", l.shape(x), data, int8);
  l.g[v].quant = r.quant;
  l.result(v);
}

constexpr Claim kQuantizeClaims[] = {
    {"quantized_decomposed.quantize_per_tensor.default", quantize},
    {"quantized_decomposed.quantize_per_tensor.tensor", quantize},
    {"quantized_decomposed.quantize_per_tensor.tensor2", quantize},
    {"quantized_decomposed.quantize_per_channel.default", quantize},
};
constexpr Claim kDequantizeClaims[] = {
    {"quantized_decomposed.dequantize_per_tensor.default", dequantize},
    {"quantized_decomposed.dequantize_per_tensor.tensor", dequantize},
    {"quantized_decomposed.dequantize_per_tensor.tensor2", dequantize},
    {"quantized_decomposed.dequantize_per_channel.default", dequantize},
};

// ---- the operators ----------------------------------------------------------------------------------------------------------

void infer_quantize(Graph& g, Node& n) { g[n.out[0]].shape = g[n.in[0]].shape, g[n.out[0]].dtype = DType::i8; }
void infer_dequantize(Graph& g, Node& n) { g[n.out[0]].shape = g[n.in[0]].shape, g[n.out[0]].dtype = DType::f32; }

Quant quant_attributes(const Node& n) {
  return {{n.real("scale")}, {int32_t(n.integer("zero"))}, -1, int(n.integer("lo", -128)), int(n.integer("hi", 127))};
}
std::optional<Quant> as_quant(const Graph&, const Node& n) { return quant_attributes(n); }

void eval_quantize(const EvalArgs& e) {
  const Quant q = quant_attributes(e.n);
  const int64_t count = elements(e.g[e.n.out[0]].shape);
  for (int64_t i = 0; i < count; i++) e.out[0][i] = quantised(e.in[0][i], q.scale[0], q.zero[0], q.lo, q.hi);
}

void eval_dequantize(const EvalArgs& e) {
  const Quant q = quant_attributes(e.n);
  const int64_t count = elements(e.g[e.n.out[0]].shape);
  for (int64_t i = 0; i < count; i++) e.out[0][i] = (e.in[0][i] - float(q.zero[0])) * float(q.scale[0]);
}

// float32 at the program's border.
Lowered lower_quantize(const LowerArgs& a) {
  const Quant q = a.n.has("scale") ? quant_attributes(a.n) : quant_of(a.g, a.n.out[0], a.n);
  const uint32_t count = uint32_t(elements(a.g[a.n.in[0]].shape));
  return lowered(kRows, kChoices, a, make_quantize(count, q.scale[0], q.zero[0], q.lo, q.hi));
}
Lowered lower_dequantize(const LowerArgs& a) {
  const Quant q = a.n.has("scale") ? quant_attributes(a.n) : quant_of(a.g, a.n.in[0], a.n);
  return lowered(kRows, kChoices, a, make_dequantize(uint32_t(elements(a.g[a.n.in[0]].shape)), q.scale[0], q.zero[0]));
}

}  // namespace

extern const Op op_quantize, op_dequantize;
const Op op_quantize = {
    .name = "quantize",
    .claims = kQuantizeClaims,
    .infer = infer_quantize,
    .eval = eval_quantize,
    .lower = lower_quantize,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .terms = kTerms,
    .as_quantise = as_quant,
};
const Op op_dequantize = {
    .name = "dequantize",
    .claims = kDequantizeClaims,
    .infer = infer_dequantize,
    .eval = eval_dequantize,
    .lower = lower_dequantize,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .terms = kTerms,
    .as_dequantise = as_quant,
};

}  // namespace corten
