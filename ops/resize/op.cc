// resize: nearest neighbour, (N, C, L) and (N, C, H, W). Attributes, per spatial dim: size, scale (input pixels per output pixel, a
// float32); exact: positions are taken at pixel centres.
#include "ops/legal.h"
#include "ops/resize/constants.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/resize/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/resize/kernels.def"
#undef KERNEL
};
constexpr Choice<ResizeParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(ResizeParams, __VA_ARGS__)
#include "ops/resize/kernels.def"
#undef KERNEL
};

// ---- claims ---------------------------------------------------------------------------------------------------------------

// Factors as PyTorch's overloads name them; 0 where there is none.
std::vector<double> factors(const Legalizer& l, size_t dims) {
  std::vector<double> given = l.n.reals("scale_factors");
  if (dims == 1 && l.n.has("scales")) given = {l.n.real("scales")};
  if (dims == 2 && (l.n.has("scales_h") || l.n.has("scales_w"))) given = {l.n.real("scales_h"), l.n.real("scales_w")};
  given.resize(dims, 0);
  return given;
}

void nearest(Legalizer& l, size_t dims, bool exact) {
  const ValueId x = l.optional_tensor("input") != kNone ? l.tensor("input") : l.tensor("self");
  const Shape &in = l.shape(x), &out = result_shape(l);
  if (in.size() != dims + 2 || out.size() != dims + 2) l.fail(Code::unsupported_use, "resizing a tensor of shape " + to_text(in));
  const std::vector<double> given = factors(l, dims);
  std::vector<double> scale;
  std::vector<int64_t> size;
  for (size_t d = 0; d < dims; d++) {
    if (out[d + 2] < 1) l.fail(Code::unsupported_use, "resizing to " + to_text(out) + " leaves nothing");
    size.push_back(out[d + 2]);
    scale.push_back(given[d] > 0 ? float(1.0 / given[d]) : float(in[d + 2]) / float(out[d + 2]));
  }
  l.result(l.emit("resize", {x}, {{"size", size}, {"scale", scale}, {"exact", exact}}));
}
void nearest1d(Legalizer& l) { nearest(l, 1, false); }
void nearest2d(Legalizer& l) { nearest(l, 2, false); }
void exact1d(Legalizer& l) { nearest(l, 1, true); }
void exact2d(Legalizer& l) { nearest(l, 2, true); }

constexpr Claim kClaims[] = {
    {"aten.upsample_nearest1d.default", nearest1d},      {"aten.upsample_nearest1d.vec", nearest1d},
    {"aten.upsample_nearest2d.default", nearest2d},      {"aten.upsample_nearest2d.vec", nearest2d},
    {"aten._upsample_nearest_exact1d.default", exact1d}, {"aten._upsample_nearest_exact1d.vec", exact1d},
    {"aten._upsample_nearest_exact2d.default", exact2d}, {"aten._upsample_nearest_exact2d.vec", exact2d},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

void infer(Graph& g, Node& n) {
  Shape s = g[n.in[0]].shape;
  const std::vector<int64_t> size = n.ints("size");
  if ((s.size() != 3 && s.size() != 4) || size.size() + 2 != s.size() || n.reals("scale").size() != size.size())
    fail(g, n, Code::unsupported_use, "resizing a tensor of shape " + to_text(s) + " to " + to_text(size));
  for (size_t d = 0; d < size.size(); d++) s[d + (is_nhwc(n) ? 1 : 2)] = size[d];
  g[n.out[0]].shape = s;
}

std::vector<int64_t> sources(const Node& n, size_t d, int64_t in, int64_t out) {
  const ResizeAxis axis = make_resize_axis(float(n.reals("scale")[d]), n.flag("exact"));
  std::vector<int64_t> from;
  for (int64_t i = 0; i < out; i++) from.push_back(resize_index(axis, uint32_t(i), uint32_t(in)));
  return from;
}

void eval(const EvalArgs& e) {
  const Shape &in = e.g[e.n.in[0]].shape, &out = e.g[e.n.out[0]].shape;
  const size_t dims = in.size() - 2;
  const int64_t in_w = in.back(), in_h = dims == 2 ? in[2] : 1;
  const std::vector<int64_t> rows = dims == 2 ? sources(e.n, 0, in_h, out[2]) : std::vector<int64_t>{0};
  const std::vector<int64_t> columns = sources(e.n, dims - 1, in_w, out.back());
  float* y = e.out[0];
  for (int64_t plane = 0; plane < in[0] * in[1]; plane++)
    for (int64_t r : rows)
      for (int64_t c : columns) *y++ = e.in[0][(plane * in_h + r) * in_w + c];
}

Lowered lower(const LowerArgs& a) {
  same_scale(a);
  const Shape &in = a.g[a.n.in[0]].shape, &out = a.g[a.n.out[0]].shape;
  const size_t dims = in.size() - 2;
  const auto fit = [&](int64_t v) { return extent16(a, v, "a resize's extent of"); };
  ResizeParams p = {};
  p.n = fit(in[0]), p.c = fit(in.back());
  p.in_h = fit(dims == 2 ? in[1] : 1), p.in_w = fit(in[dims]), p.out_h = fit(dims == 2 ? out[1] : 1), p.out_w = fit(out[dims]);
  const std::vector<double> scale = a.n.reals("scale");
  const bool exact = a.n.flag("exact");
  p.rows = dims == 2 ? make_resize_axis(float(scale[0]), exact) : make_resize_axis(1.0f, false);
  p.columns = make_resize_axis(float(scale[dims - 1]), exact);
  return lowered(kRows, kChoices, a, p);
}

}  // namespace

extern const Op op_resize;
const Op op_resize = {
    .name = "resize",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::channels_last,
    .quant = QuantRule::same,
    .kernels = kRows,
};

}  // namespace corten
