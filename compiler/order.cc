// order: the steps in the order that needs least memory at once.
//
// Search over the sets of nodes that can have run (each set once, with the lowest peak that leads to it): exact while there are few
// such sets, as in chains with some branches; beyond a limit only the best of each size are followed.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compiler/passes.h"
#include "ops/op.h"

namespace corten {

namespace {

constexpr size_t kWidth = 2000;  // sets followed per size

using Set = std::vector<bool>;  // of nodes that have run

class Search {
 public:
  Search(const Graph& graph, const std::vector<PlannedStep>& steps) : g(graph), steps_(steps), nodes_(graph.nodes.size()) {
    root_.resize(g.values.size());
    std::iota(root_.begin(), root_.end(), 0);
    for (const Node& n : g.nodes)
      if (op_of(n).alias) root_[size_t(n.out[0])] = root_[size_t(n.in[0])];
    readers_.resize(g.values.size());
    for (size_t i = 0; i < nodes_; i++) {
      std::set<size_t> before;
      for (ValueId v : g.nodes[i].in) {
        if (v == kNone || g.is_constant(v)) continue;
        readers_[size_t(root_[size_t(v)])].push_back(i);
        if (const int p = g.producer(v); p >= 0) before.insert(size_t(p));
      }
      before_.emplace_back(before.begin(), before.end());
    }
    for (ValueId v : g.outputs) kept_.insert(root_[size_t(v)]);
  }

  std::vector<size_t> run() {
    std::map<Set, Path> now = {{Set(nodes_, false), {0, {}}}};
    for (size_t done = 0; done < nodes_; done++) {
      std::map<Set, Path> next;
      for (const auto& [ran, path] : now)
        for (size_t i = 0; i < nodes_; i++) {
          if (!ready(ran, i)) continue;
          Path longer = {std::max(path.peak, cost(ran, i)), path.order};
          longer.order.push_back(i);
          Set after = ran;
          after[i] = true;
          const auto it = next.find(after);
          if (it == next.end() || longer.peak < it->second.peak) next.insert_or_assign(std::move(after), std::move(longer));
        }
      if (next.size() > kWidth) narrow(next);
      now = std::move(next);
    }
    return now.begin()->second.order;
  }

  int64_t peak_of(const std::vector<size_t>& order) const {
    Set ran(nodes_, false);
    int64_t peak = 0;
    for (size_t i : order) {
      peak = std::max(peak, cost(ran, i));
      ran[i] = true;
    }
    return peak;
  }

 private:
  struct Path {
    int64_t peak;
    std::vector<size_t> order;
  };
  const Graph& g;
  const std::vector<PlannedStep>& steps_;
  size_t nodes_;
  std::vector<ValueId> root_;                 // whose bytes a value is
  std::vector<std::vector<size_t>> readers_;  // by root
  std::vector<std::vector<size_t>> before_;   // nodes that must have run
  std::set<ValueId> kept_;                    // outputs

  bool ready(const Set& ran, size_t i) const {
    return !ran[i] && std::all_of(before_[i].begin(), before_[i].end(), [&](size_t p) { return ran[p]; });
  }

  int64_t bytes(ValueId v) const { return elements(g[v].shape) * size_of(g[v].dtype); }

  bool needed(const Set& ran, ValueId root) const {
    if (kept_.contains(root)) return true;
    const auto& r = readers_[size_t(root)];
    return std::any_of(r.begin(), r.end(), [&](size_t i) { return !ran[i]; });
  }

  // Bytes alive while node i runs.
  int64_t cost(const Set& ran, size_t i) const {
    int64_t sum = steps_[i].lowered.scratch_bytes;
    std::set<ValueId> alive;
    for (ValueId v : g.inputs)
      if (needed(ran, v)) alive.insert(v);
    for (size_t k = 0; k < nodes_; k++)
      if (ran[k] || k == i)
        for (ValueId v : g.nodes[k].out)
          if (k == i || needed(ran, root_[size_t(v)])) alive.insert(root_[size_t(v)]);
    for (ValueId v : alive)
      if (!g.is_constant(v)) sum += bytes(v);
    return sum - saved(ran, i);
  }

  // What lying over an operand that dies here takes off.
  int64_t saved(const Set& ran, size_t i) const {
    const Node& n = g.nodes[i];
    Set after = ran;
    after[i] = true;
    int64_t most = 0;
    const auto dies = [&](ValueId v) { return v != kNone && !g.is_constant(v) && !needed(after, root_[size_t(v)]); };
    if (op_of(n).in_place)
      for (ValueId v : n.in)
        if (dies(v) && bytes(v) == bytes(n.out[0])) most = bytes(v);
    for (const Overlap& o : steps_[i].lowered.overlaps) {
      const ValueId v = n.in[size_t(o.operand)];
      if (!dies(v)) continue;
      const int64_t over = bytes(n.out[0]), under = bytes(v);
      most = std::max(most, over + under - std::max(over, std::max<int64_t>(o.distance, 0) + under));
    }
    return most;
  }

  static void narrow(std::map<Set, Path>& sets) {
    std::vector<int64_t> peaks;
    for (const auto& [set, path] : sets) peaks.push_back(path.peak);
    std::nth_element(peaks.begin(), peaks.begin() + kWidth, peaks.end());
    const int64_t limit = peaks[kWidth];
    size_t kept = 0;
    for (auto it = sets.begin(); it != sets.end();) {
      const bool keep = it->second.peak <= limit && kept < kWidth;
      kept += keep;
      it = keep ? std::next(it) : sets.erase(it);
    }
  }
};

}  // namespace

void order(Graph& g, std::vector<PlannedStep>& steps) {
  if (g.nodes.size() > 300) return;  // the sets would take too long to go through
  Search search(g, steps);
  std::vector<size_t> as_exported(g.nodes.size());
  std::iota(as_exported.begin(), as_exported.end(), size_t(0));
  const std::vector<size_t> best = search.run();
  if (search.peak_of(best) >= search.peak_of(as_exported)) return;
  std::vector<Node> nodes;
  std::vector<PlannedStep> ordered;
  for (size_t i : best) nodes.push_back(std::move(g.nodes[i])), ordered.push_back(std::move(steps[i]));
  g.nodes = std::move(nodes), steps = std::move(ordered);
}

}  // namespace corten
