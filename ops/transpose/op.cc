// transpose: output dim d is operand dim perm[d]. Attribute: perm.
#include "ops/legal.h"
#include "ops/transpose/constants.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/transpose/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/transpose/kernels.def"
#undef KERNEL
};
constexpr Choice<TransposeParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(TransposeParams, __VA_ARGS__)
#include "ops/transpose/kernels.def"
#undef KERNEL
};

// ---- claims ---------------------------------------------------------------------------------------------------------------

void permuted(Legalizer& l, ValueId x, const std::vector<int64_t>& perm) {
  bool identity = true;
  for (size_t d = 0; d < perm.size(); d++) identity = identity && perm[d] == int64_t(d);
  l.result(identity ? x : l.emit("transpose", {x}, {{"perm", perm}}));
}

std::vector<int64_t> in_order(size_t rank) {
  std::vector<int64_t> perm(rank);
  for (size_t d = 0; d < rank; d++) perm[d] = int64_t(d);
  return perm;
}

void permute(Legalizer& l) {
  const ValueId x = l.tensor("self");
  std::vector<int64_t> perm = l.n.ints("dims");
  for (int64_t& d : perm) d = l.dim(d, int(l.shape(x).size()));
  permuted(l, x, perm);
}

void swap_dims(Legalizer& l, std::string_view first, std::string_view second) {
  const ValueId x = l.tensor("self");
  const int rank = int(l.shape(x).size());
  std::vector<int64_t> perm = in_order(size_t(rank));
  if (rank > 0) std::swap(perm[size_t(l.dim(l.n.integer(first), rank))], perm[size_t(l.dim(l.n.integer(second), rank))]);
  permuted(l, x, perm);
}
void transpose(Legalizer& l) { swap_dims(l, "dim0", "dim1"); }
void swap_axes(Legalizer& l) { swap_dims(l, "axis0", "axis1"); }

void reversed(Legalizer& l) {
  std::vector<int64_t> perm = in_order(l.shape(l.tensor("self")).size());
  std::reverse(perm.begin(), perm.end());
  permuted(l, l.tensor("self"), perm);
}

void last_two(Legalizer& l) {
  std::vector<int64_t> perm = in_order(l.shape(l.tensor("self")).size());
  if (perm.size() < 2) l.fail(Code::unsupported_use, l.n.aten + " needs two dimensions");
  std::swap(perm.end()[-1], perm.end()[-2]);
  permuted(l, l.tensor("self"), perm);
}

void move_dims(Legalizer& l) {
  const ValueId x = l.tensor("self");
  const int rank = int(l.shape(x).size());
  const std::vector<int64_t> from = l.n.ints("source"), to = l.n.ints("destination");
  std::vector<int64_t> perm(size_t(rank), -1);
  std::vector<bool> moved(size_t(rank), false);
  if (from.size() != to.size()) l.fail(Code::unsupported_use, "movedim with lists of different lengths");
  for (size_t i = 0; i < from.size(); i++) {
    perm[size_t(l.dim(to[i], rank))] = l.dim(from[i], rank);
    moved[size_t(l.dim(from[i], rank))] = true;
  }
  size_t next = 0;  // the others keep their order
  for (int64_t& p : perm) {
    if (p >= 0) continue;
    while (moved.at(next)) next++;
    p = int64_t(next++);
  }
  permuted(l, x, perm);
}

constexpr Claim kClaims[] = {
    {"aten.permute.default", permute},      {"aten.permute_copy.default", permute}, {"aten.transpose.int", transpose},
    {"aten.transpose_copy.int", transpose}, {"aten.swapdims.default", transpose},   {"aten.swapaxes.default", swap_axes},
    {"aten.t.default", reversed},           {"aten.t_copy.default", reversed},      {"aten.numpy_T.default", reversed},
    {"aten.mT.default", last_two},          {"aten.movedim.int", move_dims},        {"aten.movedim.intlist", move_dims},
    {"aten.moveaxis.int", move_dims},       {"aten.moveaxis.intlist", move_dims},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

void infer(Graph& g, Node& n) {
  const Shape& in = g[n.in[0]].shape;
  const std::vector<int64_t> perm = n.ints("perm");
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != in_order(in.size()))
    fail(g, n, Code::unsupported_use, to_text(perm) + " is no permutation of the dimensions of " + to_text(in));
  Shape out;
  for (int64_t d : perm) out.push_back(in[size_t(d)]);
  g[n.out[0]].shape = out;
}

void eval(const EvalArgs& e) {
  const std::vector<int64_t> in_stride = strides_of(e.g[e.n.in[0]].shape);
  std::vector<int64_t> stride;
  for (int64_t d : e.n.ints("perm")) stride.push_back(in_stride[size_t(d)]);
  copy_strided(e.in[0], e.g[e.n.out[0]].shape, stride, e.out[0]);
}

Lowered lower(const LowerArgs& a) {
  same_scale(a);
  const Shape& in = a.g[a.n.in[0]].shape;
  const std::vector<uint32_t> extents = extents32(a, in);
  std::vector<int32_t> perm;
  for (int64_t d : a.n.ints("perm")) perm.push_back(int32_t(d));
  TransposeParams p = {};
  if (!make_transpose(int32_t(in.size()), extents.data(), perm.data(), &p))
    fail(a.g, a.n, Code::unsupported_use, "a permutation of " + to_text(in) + " needs more than six nested loops",
         "permute in two steps");
  return lowered(kRows, kChoices, a, p);
}

}  // namespace

extern const Op op_transpose;
const Op op_transpose = {
    .name = "transpose",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::permutation,
    .quant = QuantRule::same,
    .kernels = kRows,
};

}  // namespace corten
