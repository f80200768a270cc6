// plan: one arena. Every value and every step's scratch gets an offset such that nothing alive overlaps.
#include <algorithm>
#include <numeric>
#include <set>

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

bool overlap_in_time(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

// Places blocks in the given order, each at the lowest offset where it fits. Returns the arena's size.
int64_t place(std::vector<Block>& blocks, const std::vector<size_t>& order) {
  std::vector<size_t> placed;
  int64_t top = 0;
  for (size_t i : order) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t j : placed)
      if (overlap_in_time(blocks[i], blocks[j])) taken.push_back({blocks[j].offset, blocks[j].offset + aligned(blocks[j].bytes)});
    std::sort(taken.begin(), taken.end());
    int64_t at = 0;
    for (const auto& [from, to] : taken) {
      if (at + aligned(blocks[i].bytes) <= from) break;
      at = std::max(at, to);
    }
    blocks[i].offset = at;
    placed.push_back(i);
    top = std::max(top, at + aligned(blocks[i].bytes));
  }
  return top;
}

// The best of several orders: by size, by size times lifetime, by time, then neighbours of the best one.
int64_t pack(std::vector<Block>& blocks, int64_t lower_bound) {
  std::vector<size_t> order(blocks.size()), best_order;
  std::iota(order.begin(), order.end(), size_t(0));
  std::vector<Block> best;
  int64_t best_size = INT64_MAX;
  const auto attempt = [&](const std::vector<size_t>& candidate) {
    const int64_t size = place(blocks, candidate);
    if (size < best_size) best_size = size, best = blocks, best_order = candidate;
  };
  const auto sorted = [&](auto key) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(blocks[a]) > key(blocks[b]); });
    attempt(order);
  };
  sorted([](const Block& b) { return -int64_t(b.first); });
  sorted([](const Block& b) { return b.bytes * (b.last - b.first + 1); });
  sorted([](const Block& b) { return b.bytes; });
  uint64_t seed = 1;
  const auto random = [&](size_t n) { return size_t((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % n; };
  const int tries = blocks.size() > 400 ? 20 : 300;
  for (int t = 0; t < tries && best_size > lower_bound && blocks.size() > 2; t++) {
    std::vector<size_t> candidate = best_order;
    for (int k = 0; k < 1 + t % 3; k++) std::swap(candidate[random(candidate.size())], candidate[random(candidate.size())]);
    attempt(candidate);
  }
  if (!best.empty()) blocks = best;
  return blocks.empty() ? 0 : best_size;
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
  std::vector<ValueId> storage_;           // the value whose bytes these are
  std::vector<int> block_of_;              // by storage value; -1: none
  std::vector<int> scratch_of_;            // by step
  std::vector<Block> blocks_;
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
    for (int i = -1; i <= end; i++) {
      int64_t sum = 0;
      for (const Block& b : blocks_)
        if (b.first <= i && i <= b.last) sum += aligned(b.bytes);
      if (i >= 0 && i < end) live_.push_back(uint32_t(std::min<int64_t>(sum, UINT32_MAX)));
      if (sum > bound_) bound_ = sum, bound_step_ = std::clamp(i, 0, std::max(end - 1, 0));
    }
  }

  void assign() {
    if (bound_ > kLargestArena) {
      Diag d;
      d.subject = g.source;
      d.message = "this program needs at least " + std::to_string(bound_) + " bytes of memory at once, above the limit of " + std::to_string(kLargestArena);
      d.help = "use smaller inputs or fewer channels";
      throw Error(d);
    }
    arena_ = pack(blocks_, bound_);
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
      for (ValueId v : run_time_operands(n)) s.operands.push_back(place_of(v, p, constants));
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

  // Constants that the operator packs itself are no operands at run time.
  std::vector<ValueId> run_time_operands(const Node& n) const {
    std::vector<ValueId> all;
    const bool packs = op_of(n).quantise_constants != nullptr;
    for (ValueId v : n.in)
      if (v != kNone && !(packs && g.is_constant(v))) all.push_back(v);
    all.insert(all.end(), n.out.begin(), n.out.end());
    return all;
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

Planned plan(const Graph& g, std::vector<PlannedStep> steps, const PlanOptions& options) { return Planner(g, steps, options).run(); }

}  // namespace corten
