// mean and sum over dims. Attributes: dims (in order), keepdim, sum (no division), clamp_lo, clamp_hi; out_perm from permute.
#include "ops/legal.h"
#include "ops/mean/constants.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/mean/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/mean/kernels.def"
#undef KERNEL
};
constexpr Choice<MeanParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(MeanParams, __VA_ARGS__)
#include "ops/mean/kernels.def"
#undef KERNEL
};
constexpr Term kTerms[] = {
    {"mean_is_columns(p)", "a mean over all but the channels, or over the dimensions just before them",
     "loops kept, loops reduced"},
    {"mean_is_rows(p)", "a mean over the innermost dimensions", "loops kept, loops reduced"},
    {"p.kept[3] % 4 == 0", "a multiple of 4 channels", "channels", "pad the channels to a multiple of 4"},
};

void reduce(Legalizer& l, bool sum) {
  const ValueId x = l.optional_tensor("self") != kNone ? l.tensor("self") : l.tensor("input");
  const int rank = int(l.shape(x).size());
  std::vector<int64_t> dims;
  for (int64_t d : l.n.ints("dim")) dims.push_back(l.dim(d, rank));
  if (dims.empty())  // none given: all
    for (int d = 0; d < rank; d++) dims.push_back(d);
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end())
    l.fail(Code::unsupported_use, l.n.aten + " names a dimension twice");
  if (rank == 0) return l.result(x);
  l.result(l.emit("mean", {x}, {{"dims", dims}, {"keepdim", l.n.flag("keepdim")}, {"sum", sum}}));
}
void mean(Legalizer& l) { reduce(l, false); }
void sum(Legalizer& l) { reduce(l, true); }

constexpr Claim kClaims[] = {
    {"aten.mean.dim", mean},
    {"aten.mean.default", mean},
    {"aten.sum.dim_IntList", sum},
    {"aten.sum.default", sum},
};

std::vector<bool> reduced_dims(const Graph& g, const Node& n) {
  std::vector<bool> reduced(g[n.in[0]].shape.size(), false);
  for (int64_t d : n.ints("dims")) {
    if (d < 0 || d >= int64_t(reduced.size()))
      fail(g, n, Code::unsupported_use, "mean over dimension " + std::to_string(d) + " of " + to_text(g[n.in[0]].shape));
    reduced[size_t(d)] = true;
  }
  return reduced;
}

void infer(Graph& g, Node& n) {
  const std::vector<bool> reduced = reduced_dims(g, n);
  const Shape& in = g[n.in[0]].shape;
  Shape out;
  for (size_t d = 0; d < in.size(); d++) {
    if (!reduced[d]) out.push_back(in[d]);
    if (reduced[d] && n.flag("keepdim")) out.push_back(1);
  }
  g[n.out[0]].shape = out;
}

// The kept dims walk the output, the reduced ones one sum each, in double.
void eval(const EvalArgs& e) {
  const Shape& in = e.g[e.n.in[0]].shape;
  const std::vector<bool> reduced = reduced_dims(e.g, e.n);
  const std::vector<int64_t> stride = strides_of(in);
  Shape kept_extent, sum_extent;
  std::vector<int64_t> kept_stride, sum_stride;
  for (size_t d = 0; d < in.size(); d++) {
    (reduced[d] ? sum_extent : kept_extent).push_back(in[d]);
    (reduced[d] ? sum_stride : kept_stride).push_back(stride[d]);
  }
  const Loops kept = merged(kept_extent, kept_stride, kept_stride), terms = merged(sum_extent, sum_stride, sum_stride);
  const double divisor = e.n.flag("sum") ? 1 : double(elements(sum_extent));
  each_row(kept, [&](int64_t at, int64_t, int64_t first) {
    for (int64_t k = 0; k < kept.extent.back(); k++) {
      const float* x = e.in[0] + at + k * kept.a.back();
      double total = 0;
      each_row(terms, [&](int64_t from, int64_t, int64_t) {
        for (int64_t i = 0; i < terms.extent.back(); i++) total += x[from + i * terms.a.back()];
      });
      e.out[0][first + k] = float(total / divisor);
    }
  });
  clamp_values(e.n, e.out[0], elements(kept_extent));
}

Lowered lower(const LowerArgs& a) {
  const Shape& in = a.g[a.n.in[0]].shape;
  const Scaled x = scaled(a, a.n.in[0]), y = scaled(a, a.n.out[0]);
  const Bounds b = bounds(a);
  const std::vector<uint32_t> extents = extents32(a, in);
  const std::vector<bool> reduced = reduced_dims(a.g, a.n);
  const std::unique_ptr<bool[]> reduce_dim(new bool[in.size() + 1]());
  std::copy(reduced.begin(), reduced.end(), reduce_dim.get());
  MeanParams p = {};
  if (!make_mean(int32_t(in.size()), extents.data(), reduce_dim.get(), x.scale, x.zero, y.scale, y.zero, b.lo, b.hi,
                 a.n.flag("sum"), &p))
    fail(a.g, a.n, Code::too_large, "a mean of this kind over " + to_text(in) + " is too large or too scattered for the kernels",
         "at most 2^23 elements per mean and four separate groups of dimensions; split it in two");
  const auto loops = [](const uint32_t(&n)[4], const int32_t(&step)[4]) {
    std::string text;
    for (int i = 0; i < 4; i++)
      if (n[i] > 1) text += (text.empty() ? "" : ", ") + std::to_string(n[i]) + " every " + std::to_string(step[i]);
    return text.empty() ? "none" : text;
  };
  const Facts facts = {{"loops kept", loops(p.kept, p.kept_stride)},
                       {"loops reduced", loops(p.reduced, p.reduced_stride)},
                       {"channels", std::to_string(p.kept[3])}};
  return lowered(kRows, kChoices, a, p, facts);
}

void permute(Node& n, const std::vector<int>& perm) {
  const std::vector<int64_t> old = n.ints("dims");
  std::vector<int64_t> dims;
  std::vector<bool> reduced(perm.size(), false);
  for (int64_t d : old) dims.push_back(new_dim(perm, d)), reduced[size_t(d)] = true;
  std::sort(dims.begin(), dims.end());
  n.attrs["dims"] = std::move(dims);
  if (!n.flag("keepdim")) set_out_perm(n, perm, reduced);
}

}  // namespace

extern const Op op_mean;
const Op op_mean = {
    .name = "mean",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::observed,
    .permute = permute,
    .kernels = kRows,
    .terms = kTerms,
    .absorb_clamp = absorb_clamp_attrs,
};

}  // namespace corten
