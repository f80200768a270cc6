// select: each node's operator picks a kernel row for the tier and packs its constants.
#include "compiler/passes.h"
#include "ops/op.h"

namespace corten {

PlannedStep select_one(const Graph& g, const Node& n, Tier tier, Goal goal) {
  PlannedStep s;
  s.node = n.name, s.aten = n.aten, s.where = n.where;
  const Op& op = op_of(n);
  if (!op.alias) s.lowered = op.lower({g, n, tier, goal});
  return s;
}

std::vector<PlannedStep> select(const Graph& g, Tier tier, Goal goal) {
  std::vector<PlannedStep> steps;
  std::vector<Diag> diags;
  for (const Node& n : g.nodes) {
    try {
      steps.push_back(select_one(g, n, tier, goal));
    } catch (const Error& e) {
      diags.push_back(e.diag);
    }
  }
  if (!diags.empty()) throw Errors(std::move(diags));
  return steps;
}

}  // namespace corten
