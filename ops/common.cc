// The operator list, and what op.cc files share.
#include <algorithm>
#include <cmath>
#include <cstdio>

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

double factor_of(int32_t mult, int32_t shift) { return std::ldexp(double(mult), -31 - shift); }

std::string short_text(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}

std::vector<std::string_view> parts_of(std::string_view condition) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < condition.size(); i++) {
    depth += (condition[i] == '(') - (condition[i] == ')');
    if (depth || condition.substr(i, 4) != " && ") continue;
    parts.push_back(condition.substr(start, i - start));
    start = i + 4;
  }
  parts.push_back(condition.substr(start));
  return parts;
}

Unmet unmet_term(std::span<const Term> terms, std::string_view condition, const Facts& facts) {
  const auto term = std::find_if(terms.begin(), terms.end(), [&](const Term& t) { return t.condition == condition; });
  if (term == terms.end()) return {std::string(condition), std::string(condition), "", ""};
  Unmet u = {std::string(condition), std::string(term->needs), "", std::string(term->advice)};
  std::string_view names = term->facts;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(", "));
    names.remove_prefix(std::min(names.size(), name.size() + 2));
    for (const auto& [key, value] : facts)
      if (key == name) u.actual += (u.actual.empty() ? "" : ", ") + std::string(key) + " " + value;
  }
  return u;
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
    fail(g, n, Code::no_calibration, "value '" + g[v].name + "' has no scale",
         "quantise it in PyTorch (PT2E), or give calibration data with --calibrate so that Corten chooses one");
  return *g[v].quant;
}

}  // namespace corten
