// max_pool and avg_pool of (N, C, L) and (N, C, H, W); attributes at `axis`.
#include "ops/legal.h"
#include "ops/pool/constants.h"
#include "ops/pool/overlap.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/pool/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/pool/kernels.def"
#undef KERNEL
};
constexpr Choice<PoolParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(PoolParams, __VA_ARGS__)
#include "ops/pool/kernels.def"
#undef KERNEL
};
constexpr Term kTerms[] = {
    {"p.kind == kPoolMax", "max pooling", "kind"},
    {"p.kind == kPoolAverage", "average pooling", "kind"},
    {"p.c % 4 == 0", "a multiple of 4 channels", "channels", "make the channels a multiple of 4"},
};

// ---- claims ---------------------------------------------------------------------------------------------------------------

// A pooling's operand with a batch dim; `dims` spatial ones.
ValueId batched(Legalizer& l, ValueId x, size_t dims) {
  Shape s = l.shape(x);
  if (s.size() == dims + 1) s.insert(s.begin(), 1);
  if (s.size() != dims + 2)
    l.fail(Code::unsupported_use, l.n.aten + " of a tensor of shape " + to_text(l.shape(x)) + " is not supported");
  return reshaped(l, x, s);
}

void finish(Legalizer& l, std::string op, ValueId x, size_t dims, std::map<std::string, Attr> attrs) {
  const ValueId y = l.emit(op, {batched(l, x, dims)}, std::move(attrs));
  const Shape batchless(l.shape(y).begin() + 1, l.shape(y).end());
  l.result(l.shape(x).size() == dims + 1 ? reshaped(l, y, batchless) : y);
}

ValueId input(const Legalizer& l) { return l.optional_tensor("self") != kNone ? l.tensor("self") : l.tensor("input"); }

// Zeros that ceil_mode adds behind so that its last window, which has to start inside the image or the padding before, is whole.
int64_t pad_behind(int64_t in, int64_t window, int64_t stride, int64_t pad, bool ceil_mode) {
  if (!ceil_mode) return pad;
  int64_t out = (in + 2 * pad - window + stride - 1) / stride + 1;
  if ((out - 1) * stride >= in + pad) out--;
  return std::max(pad, (out - 1) * stride + window - in - pad);
}

void pool(Legalizer& l, std::string op, size_t dims) {
  const ValueId x = input(l);
  const std::vector<int64_t> kernel = spread(l, "kernel_size", dims, {}), stride = spread(l, "stride", dims, kernel);
  const std::vector<int64_t> pad = spread(l, "padding", dims, {0}), dilation = spread(l, "dilation", dims, {1});
  const bool ceil_mode = l.n.flag("ceil_mode");
  const Shape& s = l.shape(x);
  if (s.size() < dims + 1) l.fail(Code::unsupported_use, l.n.aten + " of a tensor of shape " + to_text(s) + " is not supported");
  std::vector<int64_t> pad_after;
  for (size_t d = 0; d < dims; d++) {
    const int64_t window = dilation[d] * (kernel[d] - 1) + 1, in = s[s.size() - dims + d];
    if (kernel[d] < 1 || stride[d] < 1 || dilation[d] < 1 || pad[d] < 0 || 2 * pad[d] > window)
      l.fail(Code::unsupported_use, "pooling with kernel " + to_text(kernel) + ", stride " + to_text(stride) + ", padding " +
                                        to_text(pad) + " is not possible");
    pad_after.push_back(pad_behind(in, window, stride[d], pad[d], ceil_mode));
  }
  std::map<std::string, Attr> attrs = {
      {"kernel", kernel}, {"stride", stride}, {"pad_before", pad}, {"pad_after", pad_after}, {"dilation", dilation}};
  if (op == "avg_pool") {
    attrs["count_include_pad"] = l.n.flag("count_include_pad", true), attrs["pad_counted"] = pad;
    attrs["divisor"] = l.n.integer("divisor_override", 0);
  }
  finish(l, op, x, dims, std::move(attrs));
}

void adaptive(Legalizer& l, std::string op, size_t dims) {
  const ValueId x = input(l);
  const Shape& s = l.shape(x);
  if (s.size() < dims + 1) l.fail(Code::unsupported_use, l.n.aten + " of a tensor of shape " + to_text(s) + " is not supported");
  const Shape& out = result_shape(l);  // an output size of None keeps the input's
  const std::vector<int64_t> size(out.end() - int64_t(dims), out.end());
  bool even = true;
  std::vector<int64_t> kernel;
  for (size_t d = 0; d < dims; d++) {
    const int64_t in = s[s.size() - dims + d];
    if (size[d] < 1) l.fail(Code::unsupported_use, "adaptive pooling to " + to_text(size) + " is empty");
    even = even && in % size[d] == 0;
    kernel.push_back(in / size[d]);
  }
  const std::vector<int64_t> zeros(dims, 0), ones(dims, 1);
  std::map<std::string, Attr> attrs;
  if (even) {
    attrs.insert({{"kernel", kernel}, {"stride", kernel}, {"pad_before", zeros}, {"pad_after", zeros}, {"dilation", ones}});
  } else {
    attrs["adaptive"] = size;
  }
  finish(l, op, x, dims, std::move(attrs));
}

void max_pool1d(Legalizer& l) { pool(l, "max_pool", 1); }
void max_pool2d(Legalizer& l) { pool(l, "max_pool", 2); }
void avg_pool1d(Legalizer& l) { pool(l, "avg_pool", 1); }
void avg_pool2d(Legalizer& l) { pool(l, "avg_pool", 2); }
void adaptive_max1d(Legalizer& l) { adaptive(l, "max_pool", 1); }
void adaptive_max2d(Legalizer& l) { adaptive(l, "max_pool", 2); }
void adaptive_avg1d(Legalizer& l) { adaptive(l, "avg_pool", 1); }
void adaptive_avg2d(Legalizer& l) { adaptive(l, "avg_pool", 2); }

constexpr Claim kMaxClaims[] = {
    {"aten.max_pool1d.default", max_pool1d},
    {"aten.max_pool1d_with_indices.default", max_pool1d},
    {"aten.max_pool2d.default", max_pool2d},
    {"aten.max_pool2d_with_indices.default", max_pool2d},
    {"aten.adaptive_max_pool1d.default", adaptive_max1d},
    {"aten.adaptive_max_pool2d.default", adaptive_max2d},
};
constexpr Claim kAverageClaims[] = {
    {"aten.avg_pool1d.default", avg_pool1d},
    {"aten.avg_pool2d.default", avg_pool2d},
    {"aten.adaptive_avg_pool1d.default", adaptive_avg1d},
    {"aten.adaptive_avg_pool2d.default", adaptive_avg2d},
    {"aten._adaptive_avg_pool2d.default", adaptive_avg2d},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

// One spatial dim. Attributes: kernel, stride, pad_before, pad_after (ceil_mode included), dilation per
// spatial dim, or adaptive (the output size); count_include_pad, pad_counted (the padding after that counts as such: ceil_mode's
// does not), divisor (0: none) for averages; clamp_lo, clamp_hi.
PoolAxis axis(const Node& n, size_t d, int64_t in, int64_t out) {
  PoolAxis a = {};
  a.in = int32_t(in), a.out = int32_t(out), a.dil = 1;
  a.adaptive = n.has("adaptive");
  if (a.adaptive) {
    a.k = pool_adaptive_k(a.in, a.out), a.stride = 1;
    return a;
  }
  const std::vector<int64_t> counted = n.ints("pad_counted", n.ints("pad_after"));
  a.k = int32_t(n.ints("kernel").at(d)), a.stride = int32_t(n.ints("stride").at(d)), a.dil = int32_t(n.ints("dilation").at(d));
  a.pad = int32_t(n.ints("pad_before").at(d)), a.pad_after = int32_t(counted.at(d));
  return a;
}

void infer(Graph& g, Node& n) {
  Shape s = g[n.in[0]].shape;
  if (s.size() != 3 && s.size() != 4) fail(g, n, Code::unsupported_use, "pooling of a tensor of shape " + to_text(s));
  const size_t dims = s.size() - 2, first = is_nhwc(n) ? 1 : 2;
  const std::vector<int64_t> kernel = n.ints("kernel"), stride = n.ints("stride"), before = n.ints("pad_before"),
                             after = n.ints("pad_after"), dilation = n.ints("dilation"), size = n.ints("adaptive");
  const bool complete =
      kernel.size() == dims && stride.size() == dims && before.size() == dims && after.size() == dims && dilation.size() == dims;
  if (n.has("adaptive") ? size.size() != dims : !complete)
    fail(g, n, Code::unsupported_use, "pool needs " + std::to_string(dims) + " numbers per attribute");
  for (size_t d = 0; d < dims; d++) {
    int64_t& extent = s[first + d];
    if (n.has("adaptive")) {
      extent = size[d];
      continue;
    }
    const int64_t room = extent + before[d] + after[d] - (dilation[d] * (kernel[d] - 1) + 1);
    if (room < 0)
      fail(g, n, Code::unsupported_use,
           "a window of " + to_text(kernel) + " does not fit " + to_text(g[n.in[0]].shape) + " with its padding");
    extent = room / stride[d] + 1;
  }
  g[n.out[0]].shape = s;
}

std::vector<PoolSpan> spans(const PoolAxis& a) {
  PoolWalk walk = {a};
  std::vector<PoolSpan> all;
  for (int32_t i = 0; i < a.out; i++) all.push_back(walk.next());
  return all;
}

// PyTorch's order; (N, C, L) has one row.
void eval(const EvalArgs& e) {
  const Shape &in = e.g[e.n.in[0]].shape, &out = e.g[e.n.out[0]].shape;
  const size_t dims = in.size() - 2;
  const int64_t in_w = in.back(), in_h = dims == 2 ? in[2] : 1, planes = in[0] * in[1];
  const PoolAxis column_axis = axis(e.n, dims - 1, in_w, out.back());
  const PoolAxis row_axis = dims == 2 ? axis(e.n, 0, in_h, out[2]) : PoolAxis{1, 1, 1, 1, 0, 0, 1, false};
  const std::vector<PoolSpan> rows = spans(row_axis), columns = spans(column_axis);
  const bool max = e.n.op == "max_pool", count_pad = e.n.flag("count_include_pad");
  const int64_t fixed = e.n.integer("divisor", 0);
  float* y = e.out[0];
  for (int64_t p = 0; p < planes; p++)
    for (const PoolSpan& r : rows)
      for (const PoolSpan& c : columns) {
        const float* x = e.in[0] + p * in_h * in_w;
        float most = -std::numeric_limits<float>::infinity(), sum = 0;
        for (int32_t i = 0; i < r.count; i++)
          for (int32_t j = 0; j < c.count; j++) {
            const float v = x[(r.first + i * row_axis.dil) * in_w + c.first + j * column_axis.dil];
            most = std::max(most, v), sum += v;
          }
        const int32_t taps = count_pad ? r.padded * c.padded : r.count * c.count;
        *y++ = max ? most : sum / float(fixed ? fixed : taps);
      }
  clamp_values(e.n, e.out[0], elements(out));
}

Facts facts_of(const PoolParams& p) {
  return {{"kind", p.kind == kPoolMax ? "max" : "average"}, {"channels", std::to_string(p.c)}};
}

Lowered lower(const LowerArgs& a) {
  const Shape &in = a.g[a.n.in[0]].shape, &out = a.g[a.n.out[0]].shape;
  const size_t dims = in.size() - 2;
  const Scaled x = scaled(a, a.n.in[0]), y = scaled(a, a.n.out[0]);
  const Bounds b = bounds(a);
  const PoolAxis columns = axis(a.n, dims - 1, in[dims], out[dims]);
  const PoolAxis rows = dims == 2 ? axis(a.n, 0, in[1], out[1]) : PoolAxis{1, 1, 1, 1, 0, 0, 1, false};
  const auto fit = [&](int64_t v) { return extent16(a, v, "a pooling's extent, window or step of"); };
  PoolParams p = {};
  p.n = fit(in[0]), p.c = fit(in.back()), p.in_h = fit(dims == 2 ? in[1] : 1), p.in_w = fit(in[dims]);
  p.out_h = fit(dims == 2 ? out[1] : 1), p.out_w = fit(out[dims]);
  p.k_h = fit(rows.k), p.k_w = fit(columns.k), p.stride_h = fit(rows.stride), p.stride_w = fit(columns.stride);
  p.pad_t = fit(rows.pad), p.pad_l = fit(columns.pad), p.pad_b = fit(rows.pad_after), p.pad_r = fit(columns.pad_after);
  p.dil_h = fit(rows.dil), p.dil_w = fit(columns.dil), p.adaptive = a.n.has("adaptive");
  p.in_zero = int8_t(x.zero), p.out_zero = int8_t(y.zero), p.lo = int8_t(b.lo), p.hi = int8_t(b.hi);
  if (int64_t(p.k_h) * p.k_w > 1 << 23)
    fail(a.g, a.n, Code::too_large, "a pooling window of more than 2^23 elements", "pool in two steps");
  if (a.n.op == "max_pool") {
    same_scale(a);
    p.kind = kPoolMax;
    p.scale = pool_scale(1, 1, 1);
    Lowered step = lowered(kRows, kChoices, a, p, facts_of(p));
    step.overlaps.push_back({0, pool_overlap(p)});
    return step;
  }
  const bool count_pad = a.n.flag("count_include_pad");
  make_pool_average(p, x.scale, y.scale, count_pad, a.n.integer("divisor", 0), nullptr);
  Lowered step = lowered(kRows, kChoices, a, p, facts_of(p));
  step.overlaps.push_back({0, pool_overlap(p)});
  if (const uint32_t entries = pool_table_entries(p)) {
    std::vector<Scale> table(entries);
    make_pool_average(p, x.scale, y.scale, count_pad, a.n.integer("divisor", 0), table.data());
    const auto* bytes = reinterpret_cast<const uint8_t*>(table.data());
    step.blobs.push_back({{bytes, bytes + entries * sizeof(Scale)}, offsetof(PoolParams, scales)});
  }
  return step;
}

// ---- channels that never change ---------------------------------------------------------------------------------------------

ChannelRole channel_role(const Graph&, const Node&) { return ChannelRole::each_alone; }
void keep_outputs(Graph&, Node&, const std::vector<int>&) {}  // the shape says all

ChannelBounds max_bounds(const Graph&, const Node& n, std::span<const ChannelBounds* const> in) {
  return in[0] && !has_clamp(n) ? *in[0] : ChannelBounds{};
}

// The mean of a constant, where every window is whole: the kernels' own sum and rounding.
ChannelBounds average_bounds(const Graph& g, const Node& n, std::span<const ChannelBounds* const> in) {
  const auto is_zero = [](int64_t v) { return v == 0; };
  const auto before = n.ints("pad_before"), after = n.ints("pad_after");
  const bool whole = std::all_of(before.begin(), before.end(), is_zero) && std::all_of(after.begin(), after.end(), is_zero);
  if (!in[0] || !whole || n.has("adaptive") || n.integer("divisor") || has_clamp(n)) return {};
  const Quant &x = quant_of(g, n.in[0], n), &y = quant_of(g, n.out[0], n);
  int32_t area = 1;
  for (int64_t k : n.ints("kernel")) area *= int32_t(k);
  const Scale scale = pool_scale(x.scale[0], y.scale[0], area);
  ChannelBounds out = *in[0];
  for (Interval& v : out)
    for (int* end : {&v.lo, &v.hi}) *end = to_int8(requantise(area * (*end - x.zero[0]), scale), y.zero[0], y.lo, y.hi);
  return out;
}

}  // namespace

extern const Op op_max_pool, op_avg_pool;
const Op op_max_pool = {
    .name = "max_pool",
    .claims = kMaxClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::channels_last,
    .quant = QuantRule::same,
    .kernels = kRows,
    .terms = kTerms,
    .absorb_clamp = absorb_clamp_attrs,
    .bounds = max_bounds,
    .channel_role = channel_role,
    .keep_outputs = keep_outputs,
};
const Op op_avg_pool = {
    .name = "avg_pool",
    .claims = kAverageClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::channels_last,
    .quant = QuantRule::observed,
    .kernels = kRows,
    .terms = kTerms,
    .absorb_clamp = absorb_clamp_attrs,
    .bounds = average_bounds,
    .channel_role = channel_role,
    .keep_outputs = keep_outputs,
};

}  // namespace corten
