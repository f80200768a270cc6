#include "compiler/report.h"

#include "compiler/target.h"

#include "ops/op.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

Json place_of(const Location& w) {
  Json j = Json::object();
  if (w.line) j = {{"file", w.file}, {"line", w.line}, {"text", w.text}};
  if (!w.module.empty()) j["module"] = w.module;
  return j;
}

Json io_of(const PlannedIo& io) {
  return {{"name", io.name}, {"dtype", to_text(io.dtype)}, {"shape", io.shape}, {"perm", io.perm}, {"scale", io.scale},
          {"zero_point", io.zero}, {"offset", io.place.offset}, {"bytes", io.place.bytes}};
}

}  // namespace

std::string_view observer_name(Observer o) { return o == Observer::mse ? "histogram MSE" : "min-max"; }

nlohmann::ordered_json report_json(const Compiled& c, const CompileOptions& o) {
  const Planned& p = c.planned;
  Json j = {{"corten_report", 1}, {"model", o.model}, {"name", p.name}, {"target", p.target}, {"tier", to_text(p.tier)}};
  j["image_bytes"] = c.image.size();
  j["arena"] = {{"bytes", p.arena_bytes}, {"peak_step", p.peak_step}, {"lower_bound", p.lower_bound}, {"lower_bound_step", p.bound_step}};
  Json calibration = {{"samples", c.samples}, {"observer", c.samples ? observer_name(c.observer) : "none: the program gives all scales"}};
  for (const auto& [observer, error] : c.output_error) calibration["relative_output_error"][std::string(observer_name(observer))] = error;
  j["calibration"] = calibration;
  for (const PlannedIo& io : p.inputs) j["inputs"].push_back(io_of(io));
  for (const PlannedIo& io : p.outputs) j["outputs"].push_back(io_of(io));
  j["steps"] = Json::array();
  size_t index = 0;
  for (const Node& n : c.lowered.nodes) {
    if (op_of(n).alias) continue;
    const PlannedStep& s = p.steps[index];
    const Value& out = c.lowered[n.out[0]];
    size_t constant_bytes = 0;
    for (const Blob& b : s.lowered.blobs) constant_bytes += b.bytes.size();
    Json step = {{"node", s.node}, {"op", n.op}, {"aten", s.aten}, {"kernel", s.lowered.kernel}, {"shape", out.shape},
                 {"macs", s.lowered.macs}, {"constant_bytes", constant_bytes}, {"scratch_bytes", s.lowered.scratch_bytes},
                 {"live_bytes", p.live_bytes[index]}, {"where", place_of(s.where)}};
    Json operands = Json::array();
    for (const Place& at : s.operands)
      operands.push_back({{"in", at.constant ? "image" : "arena"}, {"offset", at.offset}, {"bytes", at.bytes}});
    step["operands"] = operands;
    // Which value of the float program this is, and in which order its bytes lie.
    const ValueId of = out.of == kNone ? n.out[0] : out.of;
    step["value"] = size_t(of) < c.real.values.size() ? c.real[of].name : out.name;
    step["perm"] = out.perm;
    if (out.quant) step["scale"] = out.quant->scale[0], step["zero_point"] = out.quant->zero[0];
    j["steps"].push_back(step);
    index++;
  }
  return j;
}

}  // namespace corten
