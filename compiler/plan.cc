// plan: one arena. Every value and every step's scratch gets an offset such that nothing alive overlaps.
#include <algorithm>
#include <numeric>

#include "compiler/passes.h"
#include "ops/op.h"

namespace corten {

namespace {

constexpr uint32_t kAlign = 16;
constexpr int64_t kLargestArena = int64_t(1) << 30;

int64_t aligned(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

// Something that needs bytes from step `first` to step `last`, both included. Inputs start at -1, outputs end after the last step.
struct Block {
  int64_t bytes = 0;
  int first = 0, last = 0;
  int64_t offset = 0;
};

// Block `over` (a step's output) may lie over block `under` (an operand that dies there).
struct Allowed {
  size_t over, under;
  Overlap how;
};

// Offsets that a block may not start at: an open interval.
struct Forbidden {
  int64_t after, before;
};

class Placement {
 public:
  Placement(std::vector<Block> blocks, std::vector<Allowed> allowed) : blocks_(std::move(blocks)), allowed_(std::move(allowed)) {
    const size_t n = blocks_.size();
    meets_.resize(n);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        if (i != j && blocks_[i].first <= blocks_[j].last && blocks_[j].first <= blocks_[i].last) meets_[i].push_back(j);
  }

  // Places blocks in the given order, each at the lowest offset where it fits. Returns the arena's size.
  int64_t place(const std::vector<size_t>& order) {
    std::vector<char> placed(blocks_.size(), 0);
    std::vector<Forbidden> forbidden;
    int64_t top = 0;
    for (size_t i : order) {
      forbidden.clear();
      for (size_t j : meets_[i])
        if (placed[j]) forbid(i, j, forbidden);
      blocks_[i].offset = lowest(forbidden);
      placed[i] = 1;
      top = std::max(top, blocks_[i].offset + aligned(blocks_[i].bytes));
    }
    return top;
  }

  const std::vector<Block>& blocks() const { return blocks_; }
  void set(const std::vector<Block>& b) { blocks_ = b; }

 private:
  std::vector<Block> blocks_;
  std::vector<Allowed> allowed_;
  std::vector<std::vector<size_t>> meets_;  // blocks alive at the same time

  void forbid(size_t i, size_t j, std::vector<Forbidden>& out) const {
    const Block &a = blocks_[i], &b = blocks_[j];
    const int64_t after = b.offset - aligned(a.bytes), before = b.offset + aligned(b.bytes);
    for (const Allowed& w : allowed_) {
      const int64_t d = w.how.distance;
      if (w.over == i && w.under == j) {  // b - a >= d: a's start up to b - d is free
        if (w.how.exact) {
          out.push_back({after, b.offset - d});
          out.push_back({b.offset - d, before});
        } else if (b.offset - d < before) {
          out.push_back({std::max(after, b.offset - d), before});
        }
        return;
      }
      if (w.over == j && w.under == i) {  // a - b >= d: a's start from b + d on is free
        if (w.how.exact) {
          out.push_back({after, b.offset + d});
          out.push_back({b.offset + d, before});
        } else if (b.offset + d > after) {
          out.push_back({after, std::min(before, b.offset + d)});
        }
        return;
      }
    }
    out.push_back({after, before});
  }

  static int64_t lowest(std::vector<Forbidden>& forbidden) {
    std::sort(forbidden.begin(), forbidden.end(), [](const Forbidden& a, const Forbidden& b) { return a.after < b.after; });
    int64_t at = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Forbidden& f : forbidden)
        if (f.after < at && at < f.before) at = aligned(f.before), moved = true;
    }
    return at;
  }
};

// The best of several orders: by time, by size times lifetime, by size, then neighbours of the best one.
int64_t pack(std::vector<Block>& blocks, const std::vector<Allowed>& allowed, int64_t lower_bound) {
  Placement placement(blocks, allowed);
  std::vector<size_t> order(blocks.size()), best_order;
  std::iota(order.begin(), order.end(), size_t(0));
  int64_t best = INT64_MAX;
  const auto attempt = [&](const std::vector<size_t>& candidate) {
    const int64_t size = placement.place(candidate);
    if (size >= best) return;
    best = size, best_order = candidate, blocks = placement.blocks();
  };
  const auto sorted = [&](auto key) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(blocks[a]) > key(blocks[b]); });
    attempt(order);
  };
  sorted([](const Block& b) { return int64_t(b.first); });  // backwards: an output that lies over its operand needs room below
  sorted([](const Block& b) { return -int64_t(b.first); });
  sorted([](const Block& b) { return b.bytes * (b.last - b.first + 1); });
  sorted([](const Block& b) { return b.bytes; });
  uint64_t seed = 1;
  const auto random = [&](size_t n) { return size_t((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % n; };
  const int tries = blocks.size() > 400 ? 30 : 600;
  for (int t = 0; t < tries && best > lower_bound && blocks.size() > 2; t++) {
    std::vector<size_t> candidate = best_order;
    for (int k = 0; k < 1 + t % 3; k++) {
      const size_t from = random(candidate.size()), to = random(candidate.size());
      const size_t moved = candidate[from];
      candidate.erase(candidate.begin() + std::ptrdiff_t(from));
      candidate.insert(candidate.begin() + std::ptrdiff_t(to), moved);
    }
    attempt(candidate);
  }
  return blocks.empty() ? 0 : best;
}

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<PlannedStep>& steps, const PlanOptions& options)
      : g(graph), steps_(steps), options_(options), storage_(graph.values.size()) {
    std::iota(storage_.begin(), storage_.end(), 0);
  }

  Planned run() {
    share();
    measure();
    assign();
    return describe();
  }

 private:
  const Graph& g;
  const std::vector<PlannedStep>& steps_;
  const PlanOptions& options_;
  std::vector<ValueId> storage_;  // the value whose bytes these are
  std::vector<int> block_of_;     // by storage value; -1: none
  std::vector<int> scratch_of_;   // by step
  std::vector<Block> blocks_;
  std::vector<Allowed> allowed_;
  int64_t arena_ = 0, bound_ = 0;
  int bound_step_ = 0;
  std::vector<uint32_t> live_;

  ValueId root(ValueId v) const {
    while (storage_[size_t(v)] != v) v = storage_[size_t(v)];
    return v;
  }
  int64_t bytes_of_value(ValueId v) const { return elements(g[v].shape) * size_of(g[v].dtype); }
  bool is_input(ValueId r) const { return std::find(g.inputs.begin(), g.inputs.end(), r) != g.inputs.end(); }

  int last_use(ValueId r) const {
    int last = -1;
    for (size_t i = 0; i < g.nodes.size(); i++)
      for (ValueId v : g.nodes[i].in)
        if (v != kNone && root(v) == r) last = int(i);
    for (ValueId v : g.outputs)
      if (root(v) == r) last = int(g.nodes.size());
    return last;
  }

  // Views share their operand's bytes; so does the output of an elementwise operator whose operand dies there.
  void share() {
    for (const Node& n : g.nodes)
      if (op_of(n).alias) storage_[size_t(n.out[0])] = root(n.in[0]);
    for (size_t i = 0; i < g.nodes.size(); i++) {
      const Node& n = g.nodes[i];
      if (!op_of(n).in_place || n.out.size() != 1) continue;
      for (ValueId v : n.in) {
        if (v == kNone || g.is_constant(root(v)) || bytes_of_value(v) != bytes_of_value(n.out[0])) continue;
        if (last_use(root(v)) != int(i) || (options_.keep_inputs && is_input(root(v)))) continue;
        storage_[size_t(n.out[0])] = root(v);
        break;
      }
    }
  }

  void measure() {
    block_of_.assign(g.values.size(), -1);
    const auto touch = [&](ValueId v, int at) {
      const ValueId r = root(v);
      if (g.is_constant(r)) return;
      int& b = block_of_[size_t(r)];
      if (b < 0) {
        b = int(blocks_.size());
        blocks_.push_back({0, at, at, 0});
      }
      Block& block = blocks_[size_t(b)];
      block.bytes = std::max(block.bytes, bytes_of_value(v));
      block.first = std::min(block.first, at), block.last = std::max(block.last, at);
    };
    const int end = int(g.nodes.size());
    for (ValueId v : g.inputs) touch(v, -1), options_.keep_inputs ? touch(v, end) : void();
    for (int i = 0; i < end; i++) {
      for (ValueId v : g.nodes[size_t(i)].in)
        if (v != kNone) touch(v, i);
      for (ValueId v : g.nodes[size_t(i)].out) touch(v, i);
      scratch_of_.push_back(-1);
      if (const uint32_t s = steps_[size_t(i)].lowered.scratch_bytes) {
        scratch_of_.back() = int(blocks_.size());
        blocks_.push_back({s, i, i, 0});
      }
    }
    for (ValueId v : g.outputs) touch(v, end);
    allow();
    for (int i = -1; i <= end; i++) {
      int64_t sum = 0;
      for (const Block& b : blocks_)
        if (b.first <= i && i <= b.last) sum += aligned(b.bytes);
      sum -= saved(i);
      if (i >= 0 && i < end) live_.push_back(uint32_t(std::min<int64_t>(sum, UINT32_MAX)));
      if (sum > bound_) bound_ = sum, bound_step_ = std::clamp(i, 0, std::max(end - 1, 0));
    }
  }

  // Operands that die where an output may lie over them. One operand a step: the one that saves most.
  void allow() {
    for (size_t i = 0; i < g.nodes.size(); i++) {
      const Node& n = g.nodes[i];
      if (op_of(n).alias) continue;
      const std::vector<ValueId> operands = run_time_operands(g, n);
      for (const Overlap& o : steps_[i].lowered.overlaps) {
        const ValueId under = root(operands[size_t(o.operand)]), over = root(n.out[0]);
        if (under == over || g.is_constant(under) || last_use(under) != int(i) || (options_.keep_inputs && is_input(under)))
          continue;
        const size_t a = size_t(block_of_[size_t(over)]), b = size_t(block_of_[size_t(under)]);
        if (blocks_[a].first == int(i)) allowed_.push_back({a, b, o});
      }
    }
  }

  // What the best overlap of step i takes off the sum of its blocks.
  int64_t saved(int i) const {
    int64_t most = 0;
    for (const Allowed& w : allowed_) {
      if (blocks_[w.over].first != i) continue;
      const int64_t over = aligned(blocks_[w.over].bytes), under = aligned(blocks_[w.under].bytes);
      const int64_t apart = std::max<int64_t>(w.how.distance, 0);  // the nearest that is allowed
      most = std::max(most, over + under - std::max(over, apart + under));
    }
    return most;
  }

  void assign() {
    if (bound_ > kLargestArena) {
      Diag d(Code::too_large);
      d.subject = g.source;
      d.message = "this program needs at least " + std::to_string(bound_) + " bytes of memory at once, above the limit of " +
                  std::to_string(kLargestArena);
      d.help = "use smaller inputs or fewer channels";
      throw Error(d);
    }
    arena_ = pack(blocks_, allowed_, bound_);
  }

  Place place_of(ValueId v, Planned& p, std::vector<std::pair<ValueId, uint32_t>>& constants) const {
    Place place;
    place.bytes = uint32_t(bytes_of_value(v));
    const ValueId r = root(v);
    if (!g.is_constant(r)) {
      place.offset = uint32_t(blocks_[size_t(block_of_[size_t(r)])].offset);
      return place;
    }
    place.constant = true;
    for (const auto& [known, index] : constants)
      if (known == r) return place.offset = index, place;
    place.offset = uint32_t(p.constants.size());
    constants.push_back({r, place.offset});
    p.constants.push_back(g[r].data->bytes);
    return place;
  }

  Planned describe() const {
    Planned p;
    std::vector<std::pair<ValueId, uint32_t>> constants;
    for (size_t i = 0; i < g.nodes.size(); i++) {
      const Node& n = g.nodes[i];
      if (op_of(n).alias) continue;
      PlannedStep s = steps_[i];
      for (ValueId v : run_time_operands(g, n)) s.operands.push_back(place_of(v, p, constants));
      if (scratch_of_[i] >= 0) s.scratch_offset = uint32_t(blocks_[size_t(scratch_of_[i])].offset);
      p.steps.push_back(std::move(s));
      p.live_bytes.push_back(live_[i]);
      if (int(i) == bound_step_) p.bound_step = int(p.steps.size()) - 1;
    }
    p.arena_bytes = uint32_t(arena_), p.lower_bound = uint32_t(bound_);
    int64_t top = 0;
    for (size_t i = 0; i < p.steps.size(); i++) {
      int64_t end = p.steps[i].scratch_offset + p.steps[i].lowered.scratch_bytes;
      for (const Place& o : p.steps[i].operands)
        if (!o.constant) end = std::max<int64_t>(end, int64_t(o.offset) + o.bytes);
      if (end > top) top = end, p.peak_step = int(i);
    }
    for (size_t i = 0; i < g.inputs.size(); i++) p.inputs.push_back(io(g.inputs[i], g.input_perm[i], p, constants));
    for (size_t i = 0; i < g.outputs.size(); i++) p.outputs.push_back(io(g.outputs[i], g.output_perm[i], p, constants));
    return p;
  }

  PlannedIo io(ValueId v, const std::vector<int>& perm, Planned& p, std::vector<std::pair<ValueId, uint32_t>>& constants) const {
    PlannedIo io;
    const Value& value = g[v];
    io.name = value.name, io.dtype = value.dtype, io.perm = perm;
    io.shape.resize(perm.size());
    for (size_t d = 0; d < perm.size(); d++) io.shape[size_t(perm[d])] = value.shape[d];
    if (value.quant) io.scale = value.quant->scale[0], io.zero = value.quant->zero[0];
    io.place = place_of(v, p, constants);
    return io;
  }
};

}  // namespace

std::vector<ValueId> run_time_operands(const Graph& g, const Node& n) {
  std::vector<ValueId> all;
  const bool packs = op_of(n).quantise_constants != nullptr;
  for (ValueId v : n.in)
    if (v != kNone && !(packs && g.is_constant(v))) all.push_back(v);
  all.insert(all.end(), n.out.begin(), n.out.end());
  return all;
}

Planned plan(const Graph& g, std::vector<PlannedStep> steps, const PlanOptions& options) {
  return Planner(g, steps, options).run();
}

}  // namespace corten
