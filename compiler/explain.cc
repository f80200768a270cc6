#include "compiler/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "compiler/import.h"
#include "compiler/report.h"
#include "compiler/target.h"
#include "ops/op.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

// Operators that an ATen node became are called as it is, with a suffix.
std::string stem(const std::string& name) { return name.substr(0, name.find_first_of(".:")); }

// ---- compiling what can be compiled -------------------------------------------------------------------------------------------

constexpr int64_t kMadeUpSamples = 8;

// Values of a normal distribution, as normalised data has them, for those inputs that `given` has none of. `positive`: without
// those around and below 0, which a logarithm or a division may not take.
std::shared_ptr<const Samples> with_made_up(const Graph& g, const std::shared_ptr<const Samples>& given, bool positive) {
  auto all = given ? std::make_shared<Samples>(*given) : std::make_shared<Samples>();
  if (!all->count) all->count = kMadeUpSamples;
  std::mt19937 random;
  std::normal_distribution<float> normal;
  for (size_t i = all->inputs.size(); i < g.inputs.size(); i++) {
    const Value& v = g[g.inputs[i]];
    std::vector<float> values(size_t(all->count * elements(v.shape)));
    const bool real = v.dtype == DType::f32 || v.dtype == DType::f64 || v.dtype == DType::f16 || v.dtype == DType::bf16;
    for (float& x : values) {
      x = real ? normal(random) : 0;
      if (positive) x = std::abs(x) + 0.1f;
    }
    all->inputs.push_back(std::move(values));
  }
  return all;
}

// Nodes that can not be compiled, and why.
struct Refused {
  std::set<std::string> nodes;
  std::map<std::string, Diag> why;

  // Throws what it is given where that names no node, or one that is left out already.
  void add(const std::vector<Diag>& diags) {
    for (const Diag& d : diags) {
      const std::string node = stem(d.node);
      if (node.empty() || !nodes.insert(node).second) throw Errors(diags);
      why.emplace(node, d);
    }
  }

  // Calls `attempt` until it gets through, each time without the nodes that were refused before.
  template <class F>
  void until_done(F attempt) {
    for (;;) {
      try {
        return attempt();
      } catch (const Errors& e) {
        add(e.diags);
      } catch (const Error& e) {
        add({e.diag});
      }
    }
  }
};

// The nodes that are left out are in it.
Graph imported(const std::string& model, Refused& refused) {
  Graph g;
  refused.until_done([&] { g = import_pt2(model, refused.nodes); });
  return g;
}

struct Trace {
  Graph imported;
  Compiled compiled;
  Refused refused;
  bool made_up = false;
};

Trace trace(CompileOptions o) {
  Trace t;
  t.imported = imported(o.model, t.refused);
  const std::shared_ptr<const Samples> given = o.samples;
  bool positive = false;
  const auto compile_with = [&](const Graph& real) {
    o.samples = needs_calibration(real) ? with_made_up(real, given, positive) : nullptr;
    t.compiled = compile(o);
  };
  t.refused.until_done([&] {
    o.without = t.refused.nodes;
    Graph rest = t.imported;
    cut(rest, o.without);
    if (rest.outputs.empty()) return;  // nothing is left to compile
    const Graph real = front(o.model, {}, o.without);
    t.made_up = needs_calibration(real) && (!given || real.inputs.size() > given->inputs.size());
    try {
      compile_with(real);
    } catch (const std::runtime_error&) {  // Error or Errors: perhaps of a value that the made-up ones lead to
      if (!t.made_up || positive) throw;
      positive = true;
      compile_with(real);
    }
  });
  return t;
}

// ---- rows ---------------------------------------------------------------------------------------------------------------------

class Table {
 public:
  explicit Table(const Trace& t) : t_(t), atens_(t.imported) {
    for (const Node& n : atens_.nodes) known_.insert(n.name);
    size_t step = 0;
    for (const Node& n : t.compiled.lowered.nodes) {
      if (op_of(n).alias) {
        views_.insert(stem(n.name));
        continue;
      }
      steps_[stem(n.name)].emplace_back(&n, &t.compiled.planned.steps[step]);
      step++;
    }
    for (const Graph* g : {&t.compiled.real, &t.compiled.lowered})
      for (const Node& n : g->nodes)
        for (const std::string& gone : n.fused) into_.emplace(stem(gone), stem(n.name));
    find_constants();
    find_used();
  }

  Json rows() const {
    Json all = Json::array();
    for (const auto& [name, steps] : steps_)  // what the compiler adds beside inputs and outputs
      if (!known_.count(name)) {
        Json row = {{"node", name}, {"op", ""}, {"decision", "kernel"}, {"summary", kernels(steps)}};
        put_steps(row, steps);
        all.push_back(std::move(row));
      }
    for (const Node& n : atens_.nodes) all.push_back(row_of(n));
    return all;
  }

 private:
  using Steps = std::vector<std::pair<const Node*, const PlannedStep*>>;

  const Trace& t_;
  const Graph& atens_;
  std::set<std::string> known_, views_, used_;
  std::map<std::string, Steps> steps_;
  std::map<std::string, std::string> into_;  // fused nodes, and what they became part of
  std::set<ValueId> constants_;

  void find_constants() {
    for (const Node& n : atens_.nodes) {
      const bool constant = std::all_of(n.in.begin(), n.in.end(),
                                        [&](ValueId v) { return v == kNone || atens_.is_constant(v) || constants_.count(v); });
      if (constant) constants_.insert(n.out.begin(), n.out.end());
    }
  }
  void find_used() {
    std::set<ValueId> read(atens_.outputs.begin(), atens_.outputs.end());
    for (auto n = atens_.nodes.rbegin(); n != atens_.nodes.rend(); ++n) {
      if (std::none_of(n->out.begin(), n->out.end(), [&](ValueId v) { return read.count(v); })) continue;
      used_.insert(n->name);
      read.insert(n->in.begin(), n->in.end());
    }
  }

  // Where people find a node: its module, or else what it is.
  std::string place_of(const std::string& name) const {
    const auto n = std::find_if(atens_.nodes.begin(), atens_.nodes.end(), [&](const Node& a) { return a.name == name; });
    return n == atens_.nodes.end() ? "" : n->where.module.empty() ? n->op : n->where.module;
  }

  Json row_of(const Node& n) const {
    Json row = {{"node", n.name}, {"op", n.op}, {"where", Json::object()}};
    if (n.where.line && !n.where.library) row["where"] = {{"file", n.where.file}, {"line", n.where.line}, {"text", n.where.text}};
    row["module"] = n.where.module;
    const auto decide = [&](const char* decision, std::string summary) {
      row["decision"] = decision, row["summary"] = std::move(summary);
    };
    const auto refused = t_.refused.why.find(n.name);
    const auto steps = steps_.find(n.name);
    if (refused != t_.refused.why.end()) {
      decide("refused", "refused: " + refused->second.message);
      row["to_do"] = Json::array({refused->second.help});
    } else if (steps != steps_.end()) {
      decide("kernel", kernels(steps->second));
    } else if (const auto into = into_.find(n.name); into != into_.end()) {
      const std::string last = end_of(n.name);
      decide("fused", fmt::format("part of {} ({})", last, place_of(last)));
      row["into"] = last;
    } else if (!used_.count(n.name)) {
      decide("left out", "left out: nothing reads its result");
    } else if (constants_.count(n.out[0])) {
      decide("constant", "computed by the compiler: it depends on constants alone");
    } else if (t_.compiled.image.empty()) {
      decide("unknown", "not known until what is refused is solved");
    } else if (is_scale(n)) {
      decide("scale", "gives its operand's scale; nothing to run");
    } else if (views_.count(n.name)) {
      decide("view", "another shape for the same bytes; nothing to run");
    } else if (moves(n.name)) {
      decide("order", "only reorders dimensions: inputs, outputs or neighbours are read in that order instead");
    } else {
      decide("left out", "left out: its result is its operand, or is not needed");
    }
    if (steps != steps_.end()) put_steps(row, steps->second);
    return row;
  }

  std::string end_of(std::string name) const {
    for (size_t hops = 0; hops <= into_.size(); hops++) {
      const auto next = into_.find(name);
      if (next == into_.end() || next->second == name) return name;
      name = next->second;
    }
    return name;
  }

  bool is_scale(const Node& n) const {
    for (const Op* op : all_ops())
      if (op->as_quantise || op->as_dequantise)
        for (const Claim& c : op->claims)
          if (c.aten == n.op) return true;
    return false;
  }
  // Before the layout pass it was there, as a transpose.
  bool moves(const std::string& name) const {
    const std::vector<Node>& nodes = t_.compiled.real.nodes;
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const Node& n) { return stem(n.name) == name && op_of(n).layout == LayoutRule::permutation; });
  }

  static Tier tier_of(const Node& n, const PlannedStep& s) {
    const KernelRow* row = row_named(op_of(n).kernels, s.lowered.kernel);
    return row ? row->tier : Tier::scalar;
  }
  static std::string kernels(const Steps& steps) {
    std::vector<std::pair<std::string, int>> all;  // and how often
    for (const auto& [node, step] : steps) {
      const std::string text = fmt::format("{} ({})", step->lowered.kernel, to_text(tier_of(*node, *step)));
      if (all.empty() || all.back().first != text) all.emplace_back(text, 0);
      all.back().second++;
    }
    std::string text;
    for (const auto& [kernel, times] : all)
      text += (text.empty() ? "" : ", ") + kernel + (times > 1 ? fmt::format(", {} times", times) : "");
    return text;
  }

  void put_steps(Json& row, const Steps& steps) const {
    int64_t macs = 0, constants = 0, scratch = 0;
    std::set<std::string> advice;
    row["why"] = Json::array();
    row["steps"] = Json::array();
    for (const auto& [node, step] : steps) {
      const Lowered& l = step->lowered;
      int64_t bytes = 0;
      for (const Blob& b : l.blobs) bytes += int64_t(b.bytes.size());
      for (const ValueId v : node->in)
        if (!op_of(*node).quantise_constants && t_.compiled.lowered.is_constant(v))
          bytes += int64_t(t_.compiled.lowered[v].data->bytes.size());
      const Tier tier = tier_of(*node, *step);
      row["steps"].push_back({{"kernel", l.kernel},
                              {"tier", to_text(tier)},
                              {"macs", l.macs},
                              {"constant_bytes", bytes},
                              {"scratch_bytes", l.scratch_bytes},
                              {"skipped_rows", skipped_rows(l)}});
      if (!node->fused.empty()) row["steps"].back()["fused"] = node->fused;
      macs += l.macs, constants += bytes, scratch = std::max<int64_t>(scratch, l.scratch_bytes);
      put_reasons(row["why"], *node, l, tier);
      for (const SkippedRow& skipped : l.skipped)
        for (const Unmet& u : skipped.unmet)
          if (!u.advice.empty() && skipped.tier > tier) advice.insert(u.advice);
    }
    row["macs"] = macs, row["constant_bytes"] = constants, row["scratch_bytes"] = scratch;
    if (!advice.empty()) row["to_do"] = advice;
  }

  // Rows before the chosen one, those with the same first reason together: where the step fell to a lower tier, rows of the core's
  // own; else those that something can be done about, as the others are for other layers.
  void put_reasons(Json& why, const Node& n, const Lowered& l, Tier tier) const {
    const Tier own = t_.compiled.planned.tier;
    const auto rows = op_of(n).kernels;
    const auto find = [&](const std::string& needs) {
      return std::find_if(why.begin(), why.end(), [&](const Json& w) { return w["needs"] == needs; });
    };
    if (std::none_of(rows.begin(), rows.end(), [&](const KernelRow& r) { return r.tier == own; })) {
      const std::string none = fmt::format("there is no {} kernel for Corten's operator {}, so that it runs a {} one", to_text(own),
                                           n.op, to_text(tier));
      if (find(none) == why.end()) why.push_back({{"kernels", Json::array()}, {"needs", none}, {"actual", ""}});
    }
    for (const SkippedRow& row : l.skipped) {
      const bool advised = std::any_of(row.unmet.begin(), row.unmet.end(), [](const Unmet& u) { return !u.advice.empty(); });
      if (row.unmet.empty() || (tier == own ? !advised : row.tier != own)) continue;
      const Unmet& u = row.unmet.front();
      const auto same = find(u.needs);
      if (same == why.end())
        why.push_back({{"kernels", {row.kernel}}, {"needs", u.needs}, {"actual", u.actual}, {"condition", u.condition}});
      else if ((*same)["kernels"].back() != row.kernel)
        (*same)["kernels"].push_back(row.kernel);
    }
  }
};

}  // namespace

Json explain(CompileOptions o) {
  const Target& target = target_named(o.target);
  const Trace t = trace(o);
  return {{"model", o.model},
          {"target", target.name},
          {"tier", to_text(target.tier)},
          {"made_up_ranges", t.made_up},
          {"refused", t.refused.nodes.size()},
          {"rows", Table(t).rows()}};
}

std::vector<Value> inputs_of(const std::string& model) {
  Refused refused;
  const Graph g = imported(model, refused);
  std::vector<Value> all;
  for (ValueId v : g.inputs) all.push_back(g[v]);
  return all;
}

}  // namespace corten
