#include "compiler/report.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/target.h"
#include "ops/op.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

Json place_of(const Location& w) {
  Json j = Json::object();
  if (w.line && !w.library) j = {{"file", w.file}, {"line", w.line}, {"text", w.text}};
  if (!w.module.empty()) j["module"] = w.module;
  return j;
}

Json io_of(const PlannedIo& io) {
  return {{"name", io.name},   {"dtype", to_text(io.dtype)}, {"shape", io.shape},         {"perm", io.perm},
          {"scale", io.scale}, {"zero_point", io.zero},      {"offset", io.place.offset}, {"bytes", io.place.bytes}};
}

// A value is called what it is in the float program, if it is there at all.
const std::string& name_of(const Graph& real, const Graph& lowered, ValueId v) {
  const ValueId of = lowered[v].of == kNone ? v : lowered[v].of;
  return size_t(of) < real.values.size() ? real[of].name : lowered[v].name;
}

// The arena's tensors. Steps count as in the report; -1 is before the first, the number of steps after the last.
class Tensors {
 public:
  Tensors(const Compiled& c, bool keep_inputs) : real_(c.real), g_(c.lowered), p_(c.planned), storage_(g_.values.size()) {
    for (size_t v = 0; v < storage_.size(); v++) storage_[v] = ValueId(v);
    const int end = int(p_.steps.size());
    for (size_t i = 0; i < p_.inputs.size(); i++) {
      touch(g_.inputs[i], p_.inputs[i].place, -1, "input");
      if (keep_inputs) touch(g_.inputs[i], p_.inputs[i].place, end, "input");
    }
    int step = 0;
    for (const Node& n : g_.nodes) {
      if (op_of(n).alias) {
        storage_[size_t(n.out[0])] = root(n.in[0]);
        continue;
      }
      touch_step(n, step);
      step++;
    }
    for (size_t i = 0; i < p_.outputs.size(); i++) touch(g_.outputs[i], p_.outputs[i].place, end, "output");
  }

  Json json() const { return all_; }

 private:
  const Graph &real_, &g_;
  const Planned& p_;
  std::vector<ValueId> storage_;     // the value whose bytes these are: views have none of their own
  std::map<ValueId, size_t> index_;  // into all_
  Json all_ = Json::array();

  ValueId root(ValueId v) const { return storage_[size_t(v)]; }

  void touch_step(const Node& n, int step) {
    const std::vector<Place>& places = p_.steps[size_t(step)].operands;
    const std::vector<ValueId> operands = run_time_operands(g_, n);
    for (size_t k = 0; k < operands.size() && k < places.size(); k++) {
      touch(operands[k], places[k], step, "value");
      if (k + n.out.size() >= operands.size() && index_.count(root(operands[k]))) made(operands[k], n);
    }
  }

  void touch(ValueId v, const Place& at, int step, const char* kind) {
    const ValueId r = root(v);
    if (g_.is_constant(r) || at.constant) return;
    const auto [it, is_new] = index_.insert({r, all_.size()});
    if (is_new)
      all_.push_back({{"name", name_of(real_, g_, r)},
                      {"kind", kind},
                      {"offset", at.offset},
                      {"bytes", at.bytes},
                      {"first_step", step},
                      {"last_step", step}});
    Json& t = all_[it->second];
    t["bytes"] = std::max(t["bytes"].get<uint32_t>(), at.bytes);
    t["first_step"] = std::min(t["first_step"].get<int>(), step);
    t["last_step"] = std::max(t["last_step"].get<int>(), step);
    if (t["kind"] == "value") t["kind"] = kind;
  }

  void made(ValueId v, const Node& n) {
    Json& t = all_[index_[root(v)]];
    t["node"] = n.name, t["where"] = place_of(n.where);
  }
};

// The image's bytes by what they are for. Equal constants are stored once and count for the first operator that has them.
Json image_parts(const Compiled& c) {
  std::set<std::vector<uint8_t>> seen;
  std::map<std::string, size_t> constants;
  size_t params = 0, values = 0, sum = 0, index = 0;
  for (const Node& n : c.lowered.nodes) {
    if (op_of(n).alias) continue;
    const Lowered& l = c.planned.steps[index++].lowered;
    params += l.params.size();
    for (const Blob& b : l.blobs)
      if (seen.insert(b.bytes).second) constants[n.op] += b.bytes.size();
  }
  for (const std::vector<uint8_t>& v : c.planned.constants)
    if (seen.insert(v).second) values += v.size();
  Json parts = Json::array();
  const auto part = [&](const std::string& what, size_t bytes) {
    if (bytes) parts.push_back({{"what", what}, {"bytes", bytes}});
    sum += bytes;
  };
  for (const auto& [op, bytes] : constants) part("packed constants of " + op, bytes);
  part("constant operands", values);
  part("parameters of steps", params);
  part("header, tables, names and alignment", c.image.size() - std::min(sum, c.image.size()));
  return parts;
}

// How many output channels were left out because they never change; null if none, or if the value is not the float program's.
Json pruned_channels(const Compiled& c, const Value& out) {
  if (out.of == kNone || size_t(out.of) >= c.real.values.size()) return {};
  const Shape& before = c.real[out.of].shape;
  if (before.size() != out.shape.size() || before.size() < 2) return {};
  for (size_t d = 0; d < out.shape.size(); d++) {
    const size_t was = out.perm.empty() ? d : size_t(out.perm[d]);
    if (was == 1 && out.shape[d] < before[1]) return {{"channels", before[1]}, {"left_out", before[1] - out.shape[d]}};
  }
  return {};
}

// Where a quantised program's value was in the float one; null where the program does not say.
Json origin_of(const Graph& real, std::string value) {
  const auto origin = real.origins.find(value.substr(0, value.find('.')));
  if (origin == real.origins.end()) return {};
  const Origin& o = origin->second;
  return {{"node", o.node}, {"module", o.module}, {"aten", o.aten}, {"index", o.index}};
}

Json step_of(const Compiled& c, const Node& n, size_t index) {
  const Planned& p = c.planned;
  const PlannedStep& s = p.steps[index];
  const Value& out = c.lowered[n.out[0]];
  size_t constant_bytes = 0;
  for (const Blob& b : s.lowered.blobs) constant_bytes += b.bytes.size();
  Json step = {{"node", s.node}, {"op", n.op}, {"aten", s.aten}, {"kernel", s.lowered.kernel}};
  if (const KernelRow* row = row_named(op_of(n).kernels, s.lowered.kernel)) {
    step["kernel_tier"] = to_text(row->tier);
    step["skipped_rows"] = skipped_rows(s.lowered);
  }
  step["shape"] = out.shape, step["macs"] = s.lowered.macs;
  step["constant_bytes"] = constant_bytes, step["params_bytes"] = s.lowered.params.size();
  step["scratch_bytes"] = s.lowered.scratch_bytes;
  if (s.lowered.scratch_bytes) step["scratch_offset"] = s.scratch_offset;
  step["live_bytes"] = p.live_bytes[index], step["where"] = place_of(s.where);
  step["operands"] = Json::array();
  for (const Place& at : s.operands)
    step["operands"].push_back({{"in", at.constant ? "image" : "arena"}, {"offset", at.offset}, {"bytes", at.bytes}});
  // Which value of the float program this is, and in which order its bytes lie.
  step["value"] = name_of(c.real, c.lowered, n.out[0]);
  if (Json from = origin_of(c.real, step["value"]); !from.is_null()) step["from"] = from;
  step["perm"] = out.perm;
  if (out.quant) step["scale"] = out.quant->scale[0], step["zero_point"] = out.quant->zero[0];
  if (!n.fused.empty()) step["fused"] = n.fused;
  if (Json pruned = pruned_channels(c, out); !pruned.is_null()) step["pruned"] = pruned;
  return step;
}

Json note_of(const Diag& d) {
  return {{"severity", d.severity == Severity::note ? "note" : "warning"},
          {"message", d.message},
          {"help", d.help},
          {"node", d.node},
          {"where", place_of(d.where)}};
}

std::string_view goal_name(Goal g) {
  return g == Goal::speed ? "speed" : g == Goal::ram ? "ram" : g == Goal::size ? "size" : "balanced";
}

}  // namespace

std::string_view observer_name(Observer o) { return o == Observer::mse ? "histogram MSE" : "min-max"; }

Json skipped_rows(const Lowered& step) {
  Json rows = Json::array();
  for (const SkippedRow& row : step.skipped) {
    rows.push_back({{"kernel", row.kernel}, {"tier", to_text(row.tier)}, {"condition", row.condition}, {"unmet", Json::array()}});
    for (const Unmet& u : row.unmet) {
      Json unmet = {{"condition", u.condition}, {"needs", u.needs}, {"actual", u.actual}};
      if (!u.advice.empty()) unmet["advice"] = u.advice;
      rows.back()["unmet"].push_back(std::move(unmet));
    }
  }
  return rows;
}

nlohmann::ordered_json report_json(const Compiled& c, const CompileOptions& o) {
  const Planned& p = c.planned;
  Json j = {
      {"corten_report", kReportVersion}, {"model", o.model}, {"name", p.name}, {"target", p.target}, {"tier", to_text(p.tier)}};
  j["compiler"] = CORTEN_VERSION;
  j["options"] = {{"optimize", goal_name(o.goal)}, {"float_io", o.plan.float_io}, {"keep_inputs", o.plan.keep_inputs}};
  j["image_bytes"] = c.image.size();
  j["image_parts"] = image_parts(c);
  j["arena"] = {
      {"bytes", p.arena_bytes}, {"peak_step", p.peak_step}, {"lower_bound", p.lower_bound}, {"lower_bound_step", p.bound_step}};
  Json calibration = {{"samples", c.samples},
                      {"observer", c.samples ? observer_name(c.observer) : "none: the program gives all scales"}};
  for (const auto& [observer, error] : c.output_error)
    calibration["relative_output_error"][std::string(observer_name(observer))] = error;
  calibration["given_scales"] = given_scales(c.real);
  j["calibration"] = calibration;
  for (const PlannedIo& io : p.inputs) j["inputs"].push_back(io_of(io));
  for (const PlannedIo& io : p.outputs) j["outputs"].push_back(io_of(io));
  j["tensors"] = Tensors(c, o.plan.keep_inputs).json();
  j["steps"] = Json::array();
  for (const Node& n : c.lowered.nodes)
    if (!op_of(n).alias) j["steps"].push_back(step_of(c, n, j["steps"].size()));
  j["notes"] = Json::array();
  for (const Diag& d : c.notes) j["notes"].push_back(note_of(d));
  return j;
}

}  // namespace corten
