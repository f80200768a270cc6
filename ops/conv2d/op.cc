// conv2d on the host: conv1d and conv2d of any kernel, stride, padding, dilation and groups.
//
// Operands: x (N, C, H, W) or (N, C, L); weight (O, C / groups, KH, KW), KH = 1 for rank 3; bias (O) or none.
// Attributes: stride [h, w], pad [top, left, bottom, right], dilation [h, w], groups, clamp_lo, clamp_hi.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/conv2d/overlap.h"
#include "ops/conv2d/packings.h"
#include "ops/conv2d/reference.h"
#include "ops/legal.h"

namespace corten {

namespace {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/conv2d/kernels.def"
#undef KERNEL
constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/conv2d/kernels.def"
#undef KERNEL
};

struct ConvChoice : Choice<ConvParams> {
  const ConvPacking* packing;
  ConvOverlap (*overlap)(const ConvParams&);
};
constexpr ConvChoice kChoices[] = {
#define KERNEL(tier, fn, usable, scratch, packing, overlap)                     \
  {{CORTEN_CONDITION(ConvParams, usable), CORTEN_SCRATCH(ConvParams, scratch)}, \
   &packing,                                                                    \
   []([[maybe_unused]] const ConvParams& p) -> ConvOverlap { return overlap; }},
#include "ops/conv2d/kernels.def"
#undef KERNEL
};

// ---- from ATen ------------------------------------------------------------------------------------------------------------

std::vector<int64_t> pair(Legalizer& l, std::string_view key, int64_t missing, int spatial) {
  std::vector<int64_t> v = l.n.ints(key, {missing});
  if (int(v.size()) == 1) v.resize(size_t(spatial), v[0]);
  if (int(v.size()) != spatial)
    l.fail(Code::unsupported_use,
           std::string(key) + " has " + std::to_string(v.size()) + " entries for " + std::to_string(spatial) + " dimensions");
  if (spatial == 1) v.insert(v.begin(), key == "padding" ? 0 : 1);
  return v;
}

void legalize_conv(Legalizer& l) {
  ValueId x = l.tensor("input"), w = l.tensor("weight"), bias = l.optional_tensor("bias");
  if (l.n.flag("transposed"))
    l.fail(Code::unsupported_use, "transposed convolution is not supported", "use nn.Upsample(mode='nearest') and a convolution");
  const Tensor& weight = l.constant(w, "weight");
  if (bias != kNone) l.constant(bias, "bias");
  const int rank = int(l.shape(w).size()), spatial = rank - 2;
  if (rank != 3 && rank != 4)
    l.fail(Code::unsupported_use, "convolution over " + std::to_string(spatial) + " dimensions is not supported",
           "use Conv1d or Conv2d");
  if (int(l.shape(x).size()) != rank)
    l.fail(Code::unsupported_use, "input of shape " + to_text(l.shape(x)) + " has no batch dimension",
           "export with an input of shape (1, C, ...)");
  std::vector<int64_t> stride = pair(l, "stride", 1, spatial), dilation = pair(l, "dilation", 1, spatial), pad;
  const Shape& ws = weight.shape;
  const std::vector<int64_t> kernel = {spatial == 2 ? ws[2] : 1, ws.back()};
  if (l.n.has("padding") && std::holds_alternative<std::string>(l.n.attrs.at("padding"))) {
    const std::string mode = l.n.text("padding");
    if (mode != "same" && mode != "valid")
      l.fail(Code::unsupported_use, "padding '" + mode + "' is not supported", "use 'same', 'valid' or numbers");
    for (size_t d = 0; d < 2; d++) pad.push_back(mode == "same" ? dilation[d] * (kernel[d] - 1) / 2 : 0);
    for (size_t d = 0; d < 2; d++) pad.push_back(mode == "same" ? dilation[d] * (kernel[d] - 1) - pad[d] : 0);
  } else {
    const std::vector<int64_t> p = pair(l, "padding", 0, spatial);
    pad = {p[0], p[1], p[0], p[1]};
  }
  if (spatial == 1) {
    auto flat = std::make_shared<Tensor>(weight);
    flat->shape = {ws[0], ws[1], 1, ws[2]};
    const auto quant = l.g[w].quant;
    w = l.g.add_constant(l.g[w].name, flat);
    l.g[w].quant = quant;
  }
  std::map<std::string, Attr> attrs = {
      {"stride", stride}, {"dilation", dilation}, {"pad", pad}, {"groups", l.n.integer("groups", 1)}};
  l.result(l.emit("conv2d", {x, w, bias}, attrs));
}

constexpr Claim kClaims[] = {
    {"aten.conv2d.default", legalize_conv},      {"aten.conv2d.padding", legalize_conv},
    {"aten.conv1d.default", legalize_conv},      {"aten.conv1d.padding", legalize_conv},
    {"aten.convolution.default", legalize_conv}, {"aten._convolution.default", legalize_conv},
};

// ---- shape and float --------------------------------------------------------------------------------------------------------

struct Geometry {
  int64_t n, c, h, w, o, oh, ow, kh, kw, sh, sw, pt, pl, pb, pr, dh, dw, groups;
};

Geometry geometry(const Graph& g, const Node& n) {
  const Shape &x = g[n.in[0]].shape, &k = g[n.in[1]].shape;
  const bool last = n.text("layout") == "nhwc", flat = x.size() == 3;
  if (x.size() != 3 && x.size() != 4)
    fail(g, n, Code::unsupported_use, "input of shape " + to_text(x) + " is neither (N, C, L) nor (N, C, H, W)");
  if (k.size() != 4)
    fail(g, n, Code::unsupported_use, "weight of shape " + to_text(k) + " is not (out, in / groups, height, width)");
  Geometry q = {};
  q.n = x[0], q.c = last ? x.back() : x[1], q.w = last ? x[x.size() - 2] : x.back();
  q.h = flat ? 1 : last ? x[1] : x[2];
  const auto s = n.ints("stride"), p = n.ints("pad"), d = n.ints("dilation");
  if (s.size() != 2 || p.size() != 4 || d.size() != 2)
    fail(g, n, Code::unsupported_use, "stride, pad or dilation of the wrong length");
  q.sh = s[0], q.sw = s[1], q.pt = p[0], q.pl = p[1], q.pb = p[2], q.pr = p[3], q.dh = d[0], q.dw = d[1];
  q.groups = n.integer("groups", 1), q.o = k[0], q.kh = k[2], q.kw = k[3];
  if (q.sh < 1 || q.sw < 1 || q.dh < 1 || q.dw < 1 || q.groups < 1 || std::min({q.pt, q.pl, q.pb, q.pr}) < 0)
    fail(g, n, Code::unsupported_use, "stride, dilation and groups must be at least 1, padding not negative");
  if (q.c % q.groups || q.o % q.groups || k[1] != q.c / q.groups)
    fail(g, n, Code::unsupported_use,
         "weight of shape " + to_text(k) + " does not fit an input of " + std::to_string(q.c) + " channels in " +
             std::to_string(q.groups) + " groups");
  q.oh = (q.h + q.pt + q.pb - q.dh * (q.kh - 1) - 1) / q.sh + 1;
  q.ow = (q.w + q.pl + q.pr - q.dw * (q.kw - 1) - 1) / q.sw + 1;
  if (q.h + q.pt + q.pb < q.dh * (q.kh - 1) + 1 || q.w + q.pl + q.pr < q.dw * (q.kw - 1) + 1)
    fail(g, n, Code::unsupported_use, "the kernel is larger than the padded input " + to_text(x));
  return q;
}

void infer(Graph& g, Node& n) {
  const Geometry q = geometry(g, n);
  const bool last = n.text("layout") == "nhwc", flat = g[n.in[0]].shape.size() == 3;
  if (n.in.size() > 2 && n.in[2] != kNone && elements(g[n.in[2]].shape) != q.o)
    fail(g, n, Code::unsupported_use,
         "bias of shape " + to_text(g[n.in[2]].shape) + " for " + std::to_string(q.o) + " output channels");
  Shape out = {q.n};
  if (!last) out.push_back(q.o);
  if (!flat) out.push_back(q.oh);
  out.push_back(q.ow);
  if (last) out.push_back(q.o);
  g[n.out[0]].shape = out;
}

// The patches of output pixels [first, first + count) as a matrix (taps, count), so that the inner loop runs over pixels.
void gather(const Geometry& q, const float* x, int64_t group, int64_t first, int64_t count, float* columns) {
  const int64_t gi = q.c / q.groups;
  for (int64_t c = 0; c < gi; c++)
    for (int64_t r = 0; r < q.kh; r++)
      for (int64_t s = 0; s < q.kw; s++) {
        const float* plane = x + (group * gi + c) * q.h * q.w;
        for (int64_t i = 0; i < count; i++) {
          const int64_t iy = (first + i) / q.ow * q.sh - q.pt + r * q.dh, ix = (first + i) % q.ow * q.sw - q.pl + s * q.dw;
          *columns++ = iy >= 0 && iy < q.h && ix >= 0 && ix < q.w ? plane[iy * q.w + ix] : 0.0f;
        }
      }
}

void eval(const EvalArgs& a) {
  const Geometry q = geometry(a.g, a.n);
  const float *x = a.in[0], *w = a.in[1], *bias = a.in.size() > 2 ? a.in[2] : nullptr;
  const int64_t taps = q.c / q.groups * q.kh * q.kw, go = q.o / q.groups, pixels = q.oh * q.ow;
  const float lo = float(a.n.real("clamp_lo", -std::numeric_limits<double>::infinity()));
  const float hi = float(a.n.real("clamp_hi", std::numeric_limits<double>::infinity()));
  constexpr int64_t kTile = 128;
  std::vector<float> columns(size_t(taps * kTile));
  for (int64_t n = 0; n < q.n; n++)
    for (int64_t group = 0; group < q.groups; group++)
      for (int64_t first = 0; first < pixels; first += kTile) {
        const int64_t count = std::min(kTile, pixels - first);
        gather(q, x + n * q.c * q.h * q.w, group, first, count, columns.data());
        for (int64_t o = group * go; o < (group + 1) * go; o++) {
          float sum[kTile];
          std::fill(sum, sum + count, bias ? bias[o] : 0.0f);
          for (int64_t k = 0; k < taps; k++) {
            const float weight = w[o * taps + k];
            const float* column = columns.data() + k * count;
            for (int64_t i = 0; i < count; i++) sum[i] += weight * column[i];
          }
          float* y = a.out[0] + (n * q.o + o) * pixels + first;
          for (int64_t i = 0; i < count; i++) y[i] = std::min(std::max(sum[i], lo), hi);
        }
      }
}

// ---- what it can take in ------------------------------------------------------------------------------------------------------

bool absorb_clamp(Graph&, Node& n, Clamp c) { return intersect_clamp(n, c); }

bool absorb_affine(Graph& g, Node& n, const Affine& a) {
  if (has_clamp(n) || g[n.in[1]].quant) return false;
  return scale_outputs(g, n, a);
}

bool absorb_padding(Graph& g, Node& n, const Padding& p) {
  const size_t rank = g[n.in[0]].shape.size();
  if (p.before.size() != rank || p.before[0] || p.before[1] || p.after[0] || p.after[1]) return false;
  std::vector<int64_t> pad = n.ints("pad");
  const size_t w = rank - 1;
  if (rank == 4) pad[0] += p.before[2], pad[2] += p.after[2];
  pad[1] += p.before[w], pad[3] += p.after[w];
  for (int64_t v : pad)
    if (v < 0) return false;  // a crop
  n.attrs["pad"] = pad;
  return true;
}

// ---- channels that never change ---------------------------------------------------------------------------------------------

bool is_padded(const Node& n) {
  const auto pad = n.ints("pad");
  return std::any_of(pad.begin(), pad.end(), [](int64_t p) { return p != 0; });
}

ChannelBounds bounds(const Graph& g, const Node& n, std::span<const ChannelBounds* const> in) {
  return weight_bounds(g, n, in[0], {n.integer("groups", 1), is_padded(n)});
}

ChannelRole channel_role(const Graph& g, const Node& n) {
  const int64_t groups = n.integer("groups", 1);
  if (groups == 1) return ChannelRole::dense;
  const Shape& w = g[n.in[1]].shape;
  return w[0] == groups && w[1] == 1 ? ChannelRole::each_alone : ChannelRole::none;
}

void keep_outputs(Graph& g, Node& n, const std::vector<int>& keep) {
  if (channel_role(g, n) == ChannelRole::each_alone) n.attrs["groups"] = int64_t(keep.size());
  keep_weight_outputs(g, n, keep);
}

// With padding the border reads the zero point, so the constant has to be that.
bool can_fold(const Graph& g, const Node& n, int, int value) { return !is_padded(n) || value == quant_of(g, n.in[0], n).zero[0]; }

// ---- lowering -----------------------------------------------------------------------------------------------------------------

ConvParams params_of(const Graph& g, const Node& n) {
  const Geometry q = geometry(g, n);
  for (int64_t v : {q.n, q.h, q.w, q.c, q.o, q.oh, q.ow, q.kh, q.kw, q.pt, q.pl, q.sh, q.sw, q.dh, q.dw})
    if (v > 65535)
      fail(g, n, Code::too_large, "an extent of " + std::to_string(v) + " is above the limit of 65535", "split the layer");
  ConvParams p = {};
  p.n = uint16_t(q.n), p.in_h = uint16_t(q.h), p.in_w = uint16_t(q.w), p.in_c = uint16_t(q.c);
  p.out_h = uint16_t(q.oh), p.out_w = uint16_t(q.ow), p.out_c = uint16_t(q.o), p.groups = uint16_t(q.groups);
  p.k_h = uint16_t(q.kh), p.k_w = uint16_t(q.kw), p.stride_h = uint16_t(q.sh), p.stride_w = uint16_t(q.sw);
  p.pad_t = uint16_t(q.pt), p.pad_l = uint16_t(q.pl), p.dil_h = uint16_t(q.dh), p.dil_w = uint16_t(q.dw);
  return p;
}

constexpr Term kTerms[] = {
#include "ops/conv2d/terms.inc"
};

Facts facts_of(const ConvParams& p, const WeightTables& t) {
  const auto times = [](int64_t a, int64_t b) { return std::to_string(a) + "x" + std::to_string(b); };
  const auto minima = [](auto first, auto last) { return std::count(first, last, -128); };
  int64_t most = 0;
  for (auto w = t.weights.begin(); w != t.weights.end(); w += conv_taps(p))
    most = std::max<int64_t>(most, minima(w, w + conv_taps(p)));
  return {{"kernel", times(p.k_h, p.k_w)},
          {"stride", times(p.stride_h, p.stride_w)},
          {"dilation", times(p.dil_h, p.dil_w)},
          {"padding", times(p.pad_t, p.pad_l)},
          {"groups", std::to_string(p.groups)},
          {"channels", std::to_string(p.in_c) + " to " + std::to_string(p.out_c)},
          {"output", times(p.out_h, p.out_w)},
          {"output positions", std::to_string(int64_t(p.n) * p.out_h * p.out_w)},
          {"weights per output", std::to_string(conv_taps(p))},
          {"weights of -128", std::to_string(minima(t.weights.begin(), t.weights.end()))},
          {"most weights of -128 in a channel", std::to_string(most)},
          {"largest factor", largest_factor(t)}};
}

Lowered lower(const LowerArgs& a) {
  ConvParams p = params_of(a.g, a.n);
  WeightTables t = weight_tables(a.g, a.n, conv_taps(p));
  p.in_zero = int8_t(t.in_zero), p.out_zero = int8_t(t.out_zero), p.lo = int8_t(t.lo), p.hi = int8_t(t.hi);
  p.flags =
      (t.shifts_positive ? kConvShiftsPositive : 0u) | (t.acc30 ? kConvAcc30 : 0u) | (p.out_zero == p.lo ? kConvOutZeroIsLo : 0u);
  // (out, in, kh, kw) -> (out, kh, kw, in)
  const int32_t gi = conv_group_in(p), area = p.k_h * p.k_w;
  std::vector<int8_t> ohwi(t.weights.size());
  for (int32_t o = 0; o < p.out_c; o++)
    for (int32_t c = 0; c < gi; c++)
      for (int32_t k = 0; k < area; k++) ohwi[size_t((o * area + k) * gi + c)] = t.weights[size_t((o * gi + c) * area + k)];
  const ConvSource source = {ohwi.data(), t.bias.data(), t.mult.data(), t.shift.data()};
  p.flags |= conv_tap_facts(p, source.weights) | conv_dsp_facts(p, source) | conv_scalar_facts(p, source);
  p.flags |= a.goal == Goal::speed ? kConvForSpeed : a.goal == Goal::ram ? kConvForRam : a.goal == Goal::size ? kConvForSize : 0u;
  Lowered step;
  const ConvChoice& choice = choose(kRows, kChoices, a, p, facts_of(p, t), step);
  if (const ConvOverlap o = choice.overlap(p); !o.none) step.overlaps.push_back({0, o.distance, o.exact});
  step.macs = int64_t(p.n) * p.out_h * p.out_w * p.out_c * conv_taps(p);
  pack(step, p, *choice.packing, source);
  return step;
}

}  // namespace

extern const Op op_conv2d;
const Op op_conv2d = {
    .name = "conv2d",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .quantise_constants = quantise_weights,
    .lower = lower,
    .layout = LayoutRule::channels_last,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .terms = kTerms,
    .absorb_clamp = absorb_clamp,
    .absorb_affine = absorb_affine,
    .absorb_padding = absorb_padding,
    .bounds = bounds,
    .channel_role = channel_role,
    .keep_outputs = keep_outputs,
    .can_fold = can_fold,
    .fold_inputs = fold_weight_inputs,
};

}  // namespace corten
