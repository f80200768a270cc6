// select: each node's operator picks a kernel row for the tier and packs its constants.
#include "compiler/passes.h"
#include "ops/op.h"

namespace corten {

std::vector<PlannedStep> select(const Graph& g, Tier tier, Goal goal) {
  std::vector<PlannedStep> steps;
  std::vector<Diag> diags;
  for (const Node& n : g.nodes) {
    PlannedStep s;
    s.node = n.name, s.aten = n.aten, s.where = n.where;
    const Op& op = op_of(n);
    try {
      if (!op.alias) s.lowered = op.lower({g, n, tier, goal});
    } catch (const Error& e) {
      diags.push_back(e.diag);
    }
    steps.push_back(std::move(s));
  }
  if (!diags.empty()) throw Errors(std::move(diags));
  return steps;
}

}  // namespace corten
