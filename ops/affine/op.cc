// affine: y = x * scale[c] + shift[c], c = dim 1 in PyTorch's order, the last one on the core: a batch norm that found no
// neighbour. Attributes: scale, shift (one number per channel), clamp_lo, clamp_hi.
#include "ops/affine/constants.h"
#include "ops/legal.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/affine/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/affine/kernels.def"
#undef KERNEL
};
constexpr Choice<AffineParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(AffineParams, __VA_ARGS__)
#include "ops/affine/kernels.def"
#undef KERNEL
};

// ---- claims ---------------------------------------------------------------------------------------------------------------

std::vector<float> per_channel(const Legalizer& l, std::string_view name, size_t channels, float missing) {
  const ValueId v = l.optional_tensor(name);
  if (v == kNone) return std::vector<float>(channels, missing);
  std::vector<float> data = l.floats(v, std::string(name) + " of the batch norm");
  if (data.size() != channels)
    l.fail(Code::unsupported_use, "the batch norm's " + std::string(name) + " has " + std::to_string(data.size()) + " values for " +
                                      std::to_string(channels) + " channels");
  return data;
}

void batch_norm(Legalizer& l) {
  const bool uses_running = l.optional_tensor("running_mean") != kNone && l.optional_tensor("running_var") != kNone;
  if (l.n.flag("training") || l.n.flag("train") || !uses_running)
    l.fail(Code::train_mode, "batch norm computes statistics of the batch at run time",
           uses_running ? "the model was exported in training mode: call model.eval() before torch.export"
                        : "use track_running_stats=True and call model.eval() before torch.export");
  const ValueId x = l.tensor("input");
  const Shape& shape = l.shape(x);
  if (shape.size() < 2 || shape.size() > 4)
    l.fail(Code::unsupported_use, "batch norm of a tensor of shape " + to_text(shape) + " is not supported",
           "it takes (N, C), (N, C, L) or (N, C, H, W)");
  const size_t channels = size_t(shape[1]);
  const std::vector<float> mean = per_channel(l, "running_mean", channels, 0), var = per_channel(l, "running_var", channels, 1);
  const std::vector<float> weight = per_channel(l, "weight", channels, 1), bias = per_channel(l, "bias", channels, 0);
  const double eps = l.n.has("epsilon") ? l.n.real("epsilon") : l.n.real("eps", 1e-5);
  std::vector<double> scale(channels), shift(channels);
  for (size_t c = 0; c < channels; c++) {
    scale[c] = weight[c] / std::sqrt(double(var[c]) + eps);
    shift[c] = bias[c] - mean[c] * scale[c];
    if (!std::isfinite(scale[c]) || !std::isfinite(shift[c]))
      l.fail(Code::nonfinite_weight,
             "channel " + std::to_string(c) + " of the batch norm has no finite scale: weight " + std::to_string(weight[c]) +
                 ", variance " + std::to_string(var[c]) + ", mean " + std::to_string(mean[c]) + ", bias " + std::to_string(bias[c]),
             "check the trained parameters for NaN and infinity");
  }
  l.result(l.emit("affine", {x}, {{"scale", scale}, {"shift", shift}}));
}

constexpr Claim kClaims[] = {
    {"aten.batch_norm.default", batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm},
    {"aten._native_batch_norm_legit.default", batch_norm},
    {"aten._native_batch_norm_legit.no_stats", batch_norm},
    {"aten._native_batch_norm_legit_functional.default", batch_norm},
    {"aten.native_batch_norm.default", batch_norm},
    {"aten.cudnn_batch_norm.default", batch_norm},
    {"aten.miopen_batch_norm.default", batch_norm},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

int64_t channels_of(const Graph& g, const Node& n) {
  const Shape& s = g[n.in[0]].shape;
  return s.empty() ? 0 : s.size() < 2 || is_nhwc(n) ? s.back() : s[1];
}

void infer(Graph& g, Node& n) {
  const Shape& s = g[n.in[0]].shape;
  const size_t scales = n.reals("scale").size();
  if (channels_of(g, n) != int64_t(scales) || n.reals("shift").size() != scales)
    fail(g, n, Code::unsupported_use, "affine has " + std::to_string(scales) + " scales for a tensor of shape " + to_text(s));
  g[n.out[0]].shape = s;
}

void eval(const EvalArgs& e) {
  const Shape& s = e.g[e.n.in[0]].shape;
  const std::vector<double> scale = e.n.reals("scale"), shift = e.n.reals("shift");
  const int64_t channels = channels_of(e.g, e.n), count = elements(s);
  int64_t inner = 1;
  for (size_t d = 2; d < s.size(); d++) inner *= s[d];
  for (int64_t row = 0; row < count / inner; row++) {
    const float factor = float(scale[size_t(row % channels)]), term = float(shift[size_t(row % channels)]);
    for (int64_t i = row * inner; i < (row + 1) * inner; i++) e.out[0][i] = e.in[0][i] * factor + term;
  }
  clamp_values(e.n, e.out[0], count);
}

Lowered lower(const LowerArgs& a) {
  const Scaled x = scaled(a, a.n.in[0]), y = scaled(a, a.n.out[0]);
  const Bounds b = bounds(a);
  const std::vector<double> scale = a.n.reals("scale"), shift = a.n.reals("shift");
  AffineParams p = {};
  p.channels = uint32_t(scale.size());
  p.rows = uint32_t(elements(a.g[a.n.in[0]].shape) / p.channels);
  p.lo = int8_t(b.lo), p.hi = int8_t(b.hi);
  Blob tables = {{}, offsetof(AffineParams, tables)};
  for (size_t c = 0; c < scale.size(); c++) {
    const std::vector<uint8_t> entry = bytes_of(make_affine(scale[c], shift[c], x.scale, x.zero, y.scale, y.zero));
    tables.bytes.insert(tables.bytes.end(), entry.begin(), entry.end());
  }
  Lowered step = lowered(kRows, kChoices, a, p);
  step.blobs.push_back(std::move(tables));
  return step;
}

std::optional<Affine> as_affine(const Graph&, const Node& n) {
  if (has_clamp(n)) return std::nullopt;
  const std::vector<double> scale = n.reals("scale"), shift = n.reals("shift");
  return Affine{{scale.begin(), scale.end()}, {shift.begin(), shift.end()}};
}

bool absorb_affine(Graph&, Node& n, const Affine& then) {
  std::vector<double> scale = n.reals("scale"), shift = n.reals("shift");
  if (has_clamp(n) || then.scale.size() != scale.size()) return false;
  for (size_t c = 0; c < scale.size(); c++) {
    scale[c] *= then.scale[c];
    shift[c] = shift[c] * then.scale[c] + then.shift[c];
  }
  n.attrs["scale"] = std::move(scale), n.attrs["shift"] = std::move(shift);
  return true;
}

}  // namespace

extern const Op op_affine;
const Op op_affine = {
    .name = "affine",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::channels_last,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .in_place = true,
    .as_affine = as_affine,
    .absorb_clamp = absorb_clamp_attrs,
    .absorb_affine = absorb_affine,
};

}  // namespace corten
