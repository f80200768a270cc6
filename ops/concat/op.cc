// concat: operands behind each other along one dim; stack, and what repeats a tensor (repeat, expand), too. Attribute: dim.
#include "ops/concat/params.h"
#include "ops/legal.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/concat/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/concat/kernels.def"
#undef KERNEL
};
constexpr Choice<ConcatParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(ConcatParams, __VA_ARGS__)
#include "ops/concat/kernels.def"
#undef KERNEL
};

// ---- claims ---------------------------------------------------------------------------------------------------------------

// A step takes kConcatMost inputs; more go in groups.
ValueId concat(Legalizer& l, std::vector<ValueId> parts, int64_t dim) {
  while (parts.size() > 1) {
    std::vector<ValueId> groups;
    for (size_t i = 0; i < parts.size(); i += kConcatMost) {
      const std::vector<ValueId> group(parts.begin() + int64_t(i),
                                       parts.begin() + int64_t(std::min(parts.size(), i + kConcatMost)));
      groups.push_back(group.size() == 1 ? group[0] : l.emit("concat", group, {{"dim", dim}}));
    }
    parts = std::move(groups);
  }
  return parts[0];
}

std::vector<ValueId> parts_of(const Legalizer& l) {
  std::vector<ValueId> parts = l.tensors("tensors");
  if (parts.empty()) l.fail(Code::unsupported_use, l.n.aten + " of no tensors");
  return parts;
}

void cat(Legalizer& l) {
  std::vector<ValueId> parts = parts_of(l);
  std::erase_if(parts, [&](ValueId v) { return l.shape(v) == Shape{0}; });  // PyTorch skips these whatever their rank
  if (parts.empty()) l.fail(Code::unsupported_use, "cat of empty tensors");
  l.result(concat(l, parts, l.dim(l.n.integer("dim", 0), int(l.shape(parts[0]).size()))));
}

void stack(Legalizer& l) {
  std::vector<ValueId> parts = parts_of(l);
  const int dim = l.dim(l.n.integer("dim", 0), int(l.shape(parts[0]).size()) + 1);
  for (ValueId& v : parts) {
    Shape s = l.shape(v);
    s.insert(s.begin() + dim, 1);
    v = reshaped(l, v, s);
  }
  l.result(concat(l, parts, dim));
}

// x, `times[d]` of it along each dim; ranks are equal.
void repeat_dims(Legalizer& l, ValueId x, const std::vector<int64_t>& times) {
  constexpr int64_t kMost = 256;
  for (size_t d = times.size(); d-- > 0;) {
    if (times[d] == 1) continue;
    if (times[d] < 1 || times[d] > kMost)
      l.fail(Code::unsupported_use,
             l.n.aten + " copies a tensor " + std::to_string(times[d]) + " times along dimension " + std::to_string(d),
             "operators broadcast by themselves: leave the expand out, or repeat at most " + std::to_string(kMost) + " times");
    x = concat(l, std::vector<ValueId>(size_t(times[d]), x), int64_t(d));
  }
  l.result(x);
}

void expand(Legalizer& l) {
  const ValueId x = with_rank(l, l.tensor("self"), result_shape(l).size());
  std::vector<int64_t> times;
  for (size_t d = 0; d < result_shape(l).size(); d++) times.push_back(l.shape(x)[d] == result_shape(l)[d] ? 1 : result_shape(l)[d]);
  repeat_dims(l, x, times);
}

void repeat(Legalizer& l) {
  const bool tile = l.n.has("dims");
  std::vector<int64_t> times = l.n.ints(tile ? "dims" : "repeats");
  const size_t rank = std::max(times.size(), l.shape(l.tensor("self")).size());
  times.insert(times.begin(), rank - times.size(), 1);
  repeat_dims(l, with_rank(l, l.tensor("self"), rank), times);
}

constexpr Claim kClaims[] = {
    {"aten.cat.default", cat},       {"aten.concat.default", cat},    {"aten.concatenate.default", cat},
    {"aten.stack.default", stack},   {"aten.expand.default", expand}, {"aten.expand_as.default", expand},
    {"aten.repeat.default", repeat}, {"aten.tile.default", repeat},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

void infer(Graph& g, Node& n) {
  if (n.in.empty()) fail(g, n, Code::unsupported_use, "concat of no tensors");
  Shape out = g[n.in[0]].shape;
  const size_t dim = size_t(n.integer("dim"));
  if (dim >= out.size())
    fail(g, n, Code::unsupported_use, "concat along dimension " + std::to_string(n.integer("dim")) + " of " + to_text(out));
  out[dim] = 0;
  for (ValueId v : n.in) {
    Shape s = g[v].shape;
    const int64_t extent = dim < s.size() ? s[dim] : 0;
    if (dim < s.size()) s[dim] = out[dim];
    if (s != out)
      fail(g, n, Code::unsupported_use,
           "tensors of shape " + to_text(g[n.in[0]].shape) + " and " + to_text(g[v].shape) + " do not fit along dimension " +
               std::to_string(dim));
    out[dim] += extent;
  }
  g[n.out[0]].shape = out;
}

int64_t product(const Shape& s, size_t from, size_t to) {
  return elements(Shape(s.begin() + int64_t(from), s.begin() + int64_t(to)));
}

void eval(const EvalArgs& e) {
  const size_t dim = size_t(e.n.integer("dim"));
  const Shape& out = e.g[e.n.out[0]].shape;
  float* y = e.out[0];
  for (int64_t o = 0; o < product(out, 0, dim); o++)
    for (size_t i = 0; i < e.in.size(); i++) {
      const Shape& s = e.g[e.n.in[i]].shape;
      const int64_t run = product(s, dim, s.size());
      y = std::copy_n(e.in[i] + o * run, run, y);
    }
}

Lowered lower(const LowerArgs& a) {
  same_scale(a);
  const size_t dim = size_t(a.n.integer("dim"));
  const Shape& out = a.g[a.n.out[0]].shape;
  extents32(a, out);
  if (a.n.in.size() > kConcatMost) throw std::logic_error(a.n.name + ": concat of too many tensors");
  ConcatParams p = {};
  p.outer = uint32_t(product(out, 0, dim)), p.inputs = uint32_t(a.n.in.size());
  for (size_t i = 0; i < a.n.in.size(); i++) p.inner[i] = uint32_t(product(a.g[a.n.in[i]].shape, dim, out.size()));
  return lowered(kRows, kChoices, a, p);
}

}  // namespace

extern const Op op_concat;
const Op op_concat = {
    .name = "concat",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::shared,
    .permute = permute_dim,
    .kernels = kRows,
};

}  // namespace corten
