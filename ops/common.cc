// The operator list, and what op.cc files share.
#include <algorithm>
#include <cmath>

#include "ops/op.h"

namespace corten {

#define OP(name) extern const Op op_##name;
#include "ops/ops.def"
#undef OP

std::span<const Op* const> all_ops() {
  static constexpr const Op* kOps[] = {
#define OP(name) &op_##name,
#include "ops/ops.def"
#undef OP
  };
  return kOps;
}

const Op* find_op(std::string_view name) {
  for (const Op* op : all_ops())
    if (op->name == name) return op;
  return nullptr;
}

const Op& op_of(const Node& n) {
  const Op* op = find_op(n.op);
  if (!op) throw std::logic_error("no operator named " + n.op);
  return *op;
}

const Op& operator_that(bool (*is)(const Op&)) {
  for (const Op* op : all_ops())
    if (is(*op)) return *op;
  throw std::logic_error("an operator that a pass needs is not in ops.def");
}

std::span<const KernelEntry> all_kernels() {
  static const std::vector<KernelEntry> table = [] {
    std::vector<KernelEntry> t;
    for (const Op* op : all_ops())
      for (const KernelRow& row : op->kernels) {
        const bool known = std::any_of(t.begin(), t.end(), [&](const KernelEntry& e) { return e.id == row.id; });
        if (!known) t.push_back({row.id, row.run, row.check});
      }
    return t;
  }();
  return table;
}

const KernelRow* row_named(std::span<const KernelRow> rows, std::string_view name) {
  for (const KernelRow& r : rows)
    if (r.function == name) return &r;
  return nullptr;
}

int32_t quantise_value(double real, const Quant& q) {
  const double v = std::nearbyint(real / q.scale[0]) + q.zero[0];
  return int32_t(std::clamp(v, double(q.lo), double(q.hi)));
}

void quantised_clamp(const Quant& q, Clamp c, int& lo, int& hi) {
  lo = std::isfinite(c.lo) ? quantise_value(c.lo, q) : q.lo;
  hi = std::isfinite(c.hi) ? quantise_value(c.hi, q) : q.hi;
  if (lo > hi) hi = lo;
}

const Quant& quant_of(const Graph& g, ValueId v, const Node& n) {
  if (!g[v].quant)
    fail(g, n, "value '" + g[v].name + "' has no scale",
         "quantise it in PyTorch (PT2E), or give calibration data with --calibrate so that Corten chooses one");
  return *g[v].quant;
}

}  // namespace corten
