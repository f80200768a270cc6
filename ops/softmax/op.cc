// softmax and log_softmax over one dim. Attributes: dim, log, clamp_lo, clamp_hi.
#include "ops/legal.h"
#include "ops/softmax/constants.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/softmax/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/softmax/kernels.def"
#undef KERNEL
};
constexpr Choice<SoftmaxParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(SoftmaxParams, __VA_ARGS__)
#include "ops/softmax/kernels.def"
#undef KERNEL
};
constexpr Term kTerms[] = {
    {"softmax_fits_mve(p)", "a softmax (not its logarithm) over the innermost dimension", "kind, elements inside"},
};

void emit_softmax(Legalizer& l, bool log) {
  const ValueId x = l.optional_tensor("self") != kNone ? l.tensor("self") : l.tensor("input");
  const int rank = int(l.shape(x).size());
  if (rank == 0) l.fail(Code::unsupported_use, "softmax of a single number");
  l.result(l.emit("softmax", {x}, {{"dim", int64_t(l.dim(l.n.integer("dim", -1), rank))}, {"log", log}}));
}
void softmax(Legalizer& l) { emit_softmax(l, false); }
void log_softmax(Legalizer& l) { emit_softmax(l, true); }

constexpr Claim kClaims[] = {
    {"aten.softmax.int", softmax},
    {"aten._softmax.default", softmax},
    {"aten.log_softmax.int", log_softmax},
    {"aten._log_softmax.default", log_softmax},
};

// (outer, n, inner) around the dim.
struct Split {
  int64_t outer = 1, n = 1, inner = 1;
};
Split split(const Graph& g, const Node& node) {
  const Shape& s = g[node.in[0]].shape;
  const int64_t dim = node.integer("dim");
  if (dim < 0 || dim >= int64_t(s.size()))
    fail(g, node, Code::unsupported_use, "softmax over dimension " + std::to_string(dim) + " of " + to_text(s));
  Split p;
  for (int64_t d = 0; d < int64_t(s.size()); d++) (d < dim ? p.outer : d == dim ? p.n : p.inner) *= s[size_t(d)];
  return p;
}

void infer(Graph& g, Node& n) {
  split(g, n);
  g[n.out[0]].shape = g[n.in[0]].shape;
}

void eval(const EvalArgs& e) {
  const Split p = split(e.g, e.n);
  const bool log = e.n.flag("log");
  for (int64_t row = 0; row < p.outer * p.inner; row++) {
    const int64_t at = row / p.inner * p.n * p.inner + row % p.inner;
    const float* x = e.in[0] + at;
    float* y = e.out[0] + at;
    float most = x[0];
    for (int64_t i = 1; i < p.n; i++) most = std::max(most, x[i * p.inner]);
    double sum = 0;
    for (int64_t i = 0; i < p.n; i++) sum += std::exp(double(x[i * p.inner] - most));
    for (int64_t i = 0; i < p.n; i++) {
      const double d = x[i * p.inner] - most;
      y[i * p.inner] = float(log ? d - std::log(sum) : std::exp(d) / sum);
    }
  }
  clamp_values(e.n, e.out[0], p.outer * p.n * p.inner);
}

Lowered lower(const LowerArgs& a) {
  const Split s = split(a.g, a.n);
  extents32(a, a.g[a.n.in[0]].shape);
  const Scaled x = scaled(a, a.n.in[0]), y = scaled(a, a.n.out[0]);
  const Bounds b = bounds(a);
  const uint32_t outer = uint32_t(s.outer), n = uint32_t(s.n), inner = uint32_t(s.inner);
  const SoftmaxParams p = a.n.flag("log") ? make_log_softmax(outer, n, inner, x.scale, y.scale, y.zero, b.lo, b.hi)
                                          : make_softmax(outer, n, inner, y.scale, y.zero, b.lo, b.hi);
  const Facts facts = {{"kind", p.log ? "log_softmax" : "softmax"}, {"elements inside", std::to_string(p.inner)}};
  Lowered step = lowered(kRows, kChoices, a, p, facts);
  uint32_t table[kSoftmaxTable];
  softmax_table(x.scale, table);
  const auto* bytes = reinterpret_cast<const uint8_t*>(table);
  step.blobs.push_back({{bytes, bytes + sizeof table}, offsetof(SoftmaxParams, table)});
  return step;
}

std::optional<Quant> fixed_quant(const Node& n) {
  if (n.flag("log")) return std::nullopt;
  return Quant{{1.0 / 256}, {-128}};
}

}  // namespace

extern const Op op_softmax;
const Op op_softmax = {
    .name = "softmax",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::observed,
    .fixed_quant = fixed_quant,
    .permute = permute_dim,
    .kernels = kRows,
    .terms = kTerms,
    .in_place = true,
    .absorb_clamp = absorb_clamp_attrs,
};

}  // namespace corten
