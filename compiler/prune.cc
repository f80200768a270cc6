// prune: channels that have the same value whatever the input are not computed; their consumers take the constant into the bias.
//
// ChannelBounds on every int8 channel are followed through the program. A channel of a value is left out where all its readers
// either fold it (it is constant and they are dense) or pass it on channel by channel to a value where it can be left out and is
// constant. Exact: the bounds come from the same integer arithmetic as the kernels. docs/decisions/constant-channels.md has the
// proof.
#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/passes.h"
#include "ops/op.h"

namespace corten {

namespace {

int64_t channels(const Graph& g, ValueId v) { return g[v].shape.size() < 2 ? 0 : g[v].shape[1]; }

class Pruner {
 public:
  explicit Pruner(Graph& graph) : g(graph) {}

  // One round: true if something was left out.
  bool run() {
    find_bounds();
    for (size_t i = 0; i < g.nodes.size(); i++) {
      const Node& n = g.nodes[i];
      if (role(n) != ChannelRole::dense) continue;  // chains start at a dense operator
      const ValueId v = n.out[0];
      std::vector<int> keep;
      for (int c = 0; c < channels(g, v); c++)
        if (!may_go(v, c)) keep.push_back(c);
      if (keep.empty()) keep.push_back(0);
      if (int64_t(keep.size()) == channels(g, v)) continue;
      leave_out(i, keep);
      return true;
    }
    return false;
  }

 private:
  Graph& g;
  std::map<ValueId, ChannelBounds> bounds_;

  ChannelRole role(const Node& n) const {
    const Op& op = op_of(n);
    return op.channel_role ? op.channel_role(g, n) : ChannelRole::none;
  }

  void find_bounds() {
    bounds_.clear();
    for (const Node& n : g.nodes) {
      const Op& op = op_of(n);
      if (!op.bounds || n.out.size() != 1) continue;
      std::vector<const ChannelBounds*> in;
      for (ValueId v : n.in) {
        const auto it = bounds_.find(v);
        in.push_back(it == bounds_.end() ? nullptr : &it->second);
      }
      ChannelBounds b = op.bounds(g, n, in);
      if (int64_t(b.size()) == channels(g, n.out[0])) bounds_[n.out[0]] = std::move(b);
    }
  }

  bool constant(ValueId v, int c, int* value = nullptr) const {
    const auto it = bounds_.find(v);
    if (it == bounds_.end() || !it->second[size_t(c)].constant()) return false;
    if (value) *value = it->second[size_t(c)].lo;
    return true;
  }

  bool may_go(ValueId v, int c) const {
    if (g.is_output(v)) return false;
    const std::vector<int> users = g.users(v);
    for (int u : users) {
      const Node& n = g.nodes[size_t(u)];
      const Op& op = op_of(n);
      if (n.in[0] != v || std::count(n.in.begin(), n.in.end(), v) != 1) return false;
      int value = 0;
      if (role(n) == ChannelRole::each_alone) {
        if (channels(g, n.out[0]) != channels(g, v) || !constant(n.out[0], c) || !may_go(n.out[0], c)) return false;
      } else if (role(n) != ChannelRole::dense || !constant(v, c, &value) || !op.can_fold(g, n, c, value)) {
        return false;
      }
    }
    return !users.empty();
  }

  void leave_out(size_t i, const std::vector<int>& keep) {
    Node& n = g.nodes[i];
    const ValueId v = n.out[0];
    const size_t before = size_t(channels(g, v));
    std::vector<int> values(before, 0);
    for (size_t c = 0; c < before; c++) constant(v, int(c), &values[c]);
    std::vector<std::pair<int, ChannelRole>> readers;  // their roles while shapes still fit together
    for (int u : g.users(v)) readers.push_back({u, role(g.nodes[size_t(u)])});
    op_of(n).keep_outputs(g, n, keep);
    infer(n);
    for (const auto& [u, reader] : readers) {
      Node& user = g.nodes[size_t(u)];
      if (reader == ChannelRole::each_alone)
        leave_out(size_t(u), keep);
      else
        op_of(user).fold_inputs(g, user, keep, values);
    }
  }

  void infer(Node& n) {
    const DType dtype = g[n.out[0]].dtype;
    op_of(n).infer(g, n);
    g[n.out[0]].dtype = dtype;
  }
};

}  // namespace

void prune(Graph& g) {
  while (Pruner(g).run()) {
  }
}

}  // namespace corten
