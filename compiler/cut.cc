// cut: nodes that no operator takes leave the graph, so that the rest can be compiled and explained.
#include <algorithm>

#include "compiler/passes.h"

namespace corten {

void cut(Graph& g, const std::set<std::string>& names) {
  if (names.empty()) return;
  const auto is_cut = [&](const Node& n) { return names.count(n.name) > 0; };
  std::vector<ValueId> made, read;
  for (const Node& n : g.nodes)
    if (is_cut(n)) {
      made.insert(made.end(), n.out.begin(), n.out.end());
      read.insert(read.end(), n.in.begin(), n.in.end());
    }
  const auto holds = [](const std::vector<ValueId>& all, ValueId v) { return std::find(all.begin(), all.end(), v) != all.end(); };
  std::erase_if(g.nodes, is_cut);
  std::erase_if(g.outputs, [&](ValueId v) { return holds(made, v); });
  for (ValueId v : made)
    if (!g.users(v).empty()) g.inputs.push_back(v);
  for (ValueId v : read)
    if (v != kNone && g.producer(v) >= 0 && !holds(g.outputs, v)) g.outputs.push_back(v);
}

}  // namespace corten
