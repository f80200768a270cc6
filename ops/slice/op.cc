// slice: elements start, start + step, ... of one dim, `count` of them; a negative step flips. Attributes: dim, start, step, count;
// drop: the dim, then of extent 1, goes (select, unbind); out_perm from permute.
#include "ops/legal.h"
#include "ops/slice/constants.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/slice/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/slice/kernels.def"
#undef KERNEL
};
constexpr Choice<SliceParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(SliceParams, __VA_ARGS__)
#include "ops/slice/kernels.def"
#undef KERNEL
};

// ---- claims ---------------------------------------------------------------------------------------------------------------

struct Range {
  int64_t dim, start, step, count;
  bool drop = false;
};

ValueId sliced(Legalizer& l, ValueId x, const Range& r) {
  const int64_t extent = l.shape(x)[size_t(r.dim)];
  if (!r.drop && r.start == 0 && r.step == 1 && r.count == extent) return x;
  if (r.count < 1)
    l.fail(Code::unsupported_use, l.n.aten + " of " + to_text(l.shape(x)) + " is empty", "empty tensors are not supported");
  std::map<std::string, Attr> attrs = {{"dim", r.dim}, {"start", r.start}, {"step", r.step}, {"count", r.count}};
  if (r.drop) attrs["drop"] = true;
  return l.emit("slice", {x}, std::move(attrs));
}

int64_t dim_of(const Legalizer& l, ValueId x) {
  if (l.shape(x).empty()) l.fail(Code::unsupported_use, l.n.aten + " of a single number");
  return l.dim(l.n.integer("dim", 0), int(l.shape(x).size()));
}

// Negative positions count from the end; none leaves the tensor.
int64_t position(int64_t at, int64_t extent) { return std::clamp(at < 0 ? at + extent : at, int64_t(0), extent); }

void slice(Legalizer& l) {
  const ValueId x = l.tensor("self");
  const int64_t dim = dim_of(l, x), extent = l.shape(x)[size_t(dim)], step = l.n.integer("step", 1);
  if (step < 1) l.fail(Code::unsupported_use, "slice with step " + std::to_string(step));
  const int64_t start = position(l.n.integer("start", 0), extent), end = position(l.n.integer("end", extent), extent);
  l.result(sliced(l, x, {dim, start, step, end > start ? (end - start + step - 1) / step : 0}));
}

int64_t wrapped_index(const Legalizer& l, int64_t index, int64_t extent) {
  const int64_t at = index < 0 ? index + extent : index;
  if (at < 0 || at >= extent)
    l.fail(Code::unsupported_use, "index " + std::to_string(index) + " is outside a dimension of " + std::to_string(extent));
  return at;
}

void select(Legalizer& l) {
  const ValueId x = l.tensor("self");
  const int64_t dim = dim_of(l, x);
  l.result(sliced(l, x, {dim, wrapped_index(l, l.n.integer("index"), l.shape(x)[size_t(dim)]), 1, 1, true}));
}

void narrow(Legalizer& l) {
  const ValueId x = l.tensor("self");
  const int64_t dim = dim_of(l, x), extent = l.shape(x)[size_t(dim)], length = l.n.integer("length");
  const int64_t start = l.n.integer("start") < 0 ? l.n.integer("start") + extent : l.n.integer("start");
  if (start < 0 || length < 0 || start + length > extent)
    l.fail(Code::unsupported_use, "narrow leaves a dimension of " + std::to_string(extent));
  l.result(sliced(l, x, {dim, start, 1, length}));
}

// chunk and the splits: the shapes of the results say where to cut.
void split(Legalizer& l) {
  const ValueId x = l.optional_tensor("self") != kNone ? l.tensor("self") : l.tensor("tensor");
  const int64_t dim = dim_of(l, x);
  int64_t start = 0;
  for (size_t i = 0; i < l.n.out.size(); i++) {
    const Shape& part = result_shape(l, i);
    const int64_t count = size_t(dim) < part.size() ? part[size_t(dim)] : 0;
    if (start + count > l.shape(x)[size_t(dim)])
      l.fail(Code::unsupported_use, "the parts of " + l.n.aten + " are larger than " + to_text(l.shape(x)));
    l.result(sliced(l, x, {dim, start, 1, count}), int(i));
    start += count;
  }
}

void unbind(Legalizer& l) {
  const ValueId x = l.tensor("self");
  const int64_t dim = dim_of(l, x);
  if (int64_t(l.n.out.size()) > l.shape(x)[size_t(dim)])
    l.fail(Code::unsupported_use, "unbind gives more parts than " + to_text(l.shape(x)) + " has");
  for (size_t i = 0; i < l.n.out.size(); i++) l.result(sliced(l, x, {dim, int64_t(i), 1, 1, true}), int(i));
}

void flip(Legalizer& l) {
  ValueId x = l.tensor("self");
  for (int64_t d : l.n.ints("dims")) {
    const int64_t dim = l.dim(d, int(l.shape(x).size())), extent = l.shape(x).empty() ? 1 : l.shape(x)[size_t(dim)];
    if (extent > 1) x = sliced(l, x, {dim, extent - 1, -1, extent});
  }
  l.result(x);
}

// Constant positions with one step between them.
void index_select(Legalizer& l) {
  const ValueId x = l.tensor("self");
  const int64_t dim = dim_of(l, x), extent = l.shape(x)[size_t(dim)];
  const std::vector<float> index = l.floats(l.tensor("index"), "index");
  if (index.empty()) l.fail(Code::unsupported_use, "index_select of nothing");
  const int64_t start = wrapped_index(l, int64_t(index[0]), extent);
  const int64_t step = index.size() > 1 ? wrapped_index(l, int64_t(index[1]), extent) - start : 1;
  for (size_t i = 0; i < index.size(); i++)
    if (step == 0 || wrapped_index(l, int64_t(index[i]), extent) != start + int64_t(i) * step)
      l.fail(Code::unsupported_use, "index_select with positions that are not evenly spaced is not supported",
             "use slices and torch.cat");
  l.result(sliced(l, x, {dim, start, step, int64_t(index.size())}));
}

constexpr Claim kClaims[] = {
    {"aten.slice.Tensor", slice},
    {"aten.slice_copy.Tensor", slice},
    {"aten.select.int", select},
    {"aten.select_copy.int", select},
    {"aten.narrow.default", narrow},
    {"aten.chunk.default", split},
    {"aten.unsafe_chunk.default", split},
    {"aten.split.Tensor", split},
    {"aten.split.sizes", split},
    {"aten.unsafe_split.Tensor", split},
    {"aten.split_copy.Tensor", split},
    {"aten.split_with_sizes.default", split},
    {"aten.split_with_sizes_copy.default", split},
    {"aten.unbind.int", unbind},
    {"aten.unbind_copy.int", unbind},
    {"aten.flip.default", flip},
    {"aten.index_select.default", index_select},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

Range range_of(const Node& n) {
  return {n.integer("dim"), n.integer("start"), n.integer("step", 1), n.integer("count"), n.flag("drop")};
}

void infer(Graph& g, Node& n) {
  Shape s = g[n.in[0]].shape;
  const Range r = range_of(n);
  const bool inside = r.dim >= 0 && r.dim < int64_t(s.size()) && r.count > 0;
  const int64_t extent = inside ? s[size_t(r.dim)] : 0, last = r.start + (r.count - 1) * r.step;
  if (!inside || r.start < 0 || r.start >= extent || last < 0 || last >= extent || (r.drop && r.count != 1))
    fail(g, n, Code::unsupported_use,
         "slice from " + std::to_string(r.start) + ", " + std::to_string(r.count) + " of them, leaves dimension " +
             std::to_string(r.dim) + " of " + to_text(s));
  s[size_t(r.dim)] = r.count;
  if (r.drop) s.erase(s.begin() + r.dim);
  g[n.out[0]].shape = s;
}

void eval(const EvalArgs& e) {
  const Range r = range_of(e.n);
  Shape extent = e.g[e.n.in[0]].shape;
  std::vector<int64_t> stride = strides_of(extent);
  const float* first = e.in[0] + r.start * stride[size_t(r.dim)];
  extent[size_t(r.dim)] = r.count, stride[size_t(r.dim)] *= r.step;
  copy_strided(first, extent, stride, e.out[0]);
}

Lowered lower(const LowerArgs& a) {
  same_scale(a);
  const Range r = range_of(a.n);
  const Shape& in = a.g[a.n.in[0]].shape;
  std::vector<uint32_t> shape = extents32(a, in), extent = shape;
  std::vector<int64_t> start(in.size(), 0), step(in.size(), 1);
  start[size_t(r.dim)] = r.start, step[size_t(r.dim)] = r.step, extent[size_t(r.dim)] = uint32_t(r.count);
  SliceParams p = {};
  if (!make_slice(int32_t(in.size()), shape.data(), start.data(), step.data(), extent.data(), &p))
    fail(a.g, a.n, Code::unsupported_use, "a slice of " + to_text(in) + " needs more than six nested loops", "reshape it first");
  return lowered(kRows, kChoices, a, p);
}

void permute(Node& n, const std::vector<int>& perm) {
  std::vector<bool> dropped(perm.size(), false);
  dropped[size_t(n.integer("dim"))] = true;
  if (n.flag("drop")) set_out_perm(n, perm, dropped);
  permute_dim(n, perm);
}

}  // namespace

extern const Op op_slice;
const Op op_slice = {
    .name = "slice",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::same,
    .permute = permute,
    .kernels = kRows,
};

}  // namespace corten
