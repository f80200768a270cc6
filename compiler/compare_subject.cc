#include "compiler/compare_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "compiler/counterpart.h"
#include "compiler/fake_quant.h"
#include "compiler/pipeline.h"
#include "compiler/report_fields.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWrongModel = "give the .pt2 that this image was compiled from";

void check_interface(const Graph& real, const Program& program) {
  if (real.inputs.size() != program.inputs().size() || real.outputs.size() != program.outputs().size())
    throw Error(Code::mismatch,
                fmt::format("the image has {} inputs and {} outputs, the program has {} and {}", program.inputs().size(),
                            program.outputs().size(), real.inputs.size(), real.outputs.size()),
                kWrongModel);
  const auto same = [](const char* what, size_t i, const Shape& image, const Shape& model) {
    if (image != model)
      throw Error(Code::mismatch,
                  fmt::format("{} {} of the image has shape {}, of the program {}", what, i, to_text(image), to_text(model)),
                  kWrongModel);
  };
  for (size_t i = 0; i < real.inputs.size(); i++) same("input", i, program.inputs()[i].shape, real[real.inputs[i]].shape);
  for (size_t i = 0; i < real.outputs.size(); i++) same("output", i, program.outputs()[i].shape, real[real.outputs[i]].shape);
}

std::map<std::string, ValueId> values_by_name(const Graph& g) {
  std::map<std::string, ValueId> all;
  for (ValueId v : g.inputs) all[g[v].name] = v;
  for (const Node& n : g.nodes)
    for (ValueId v : n.out) all[g[v].name] = v;
  return all;
}

Origin origin_of(const Json& from) {
  return {text_of(from, "node"), text_of(from, "module"), text_of(from, "aten"), int_of(from, "index", 0)};
}

// The quantised program that was compiled, where the model given is its float original.
std::optional<Graph> quantised_program(const CompareOptions& o, const Json& report, double given, std::string& missing) {
  std::string path = o.quantised.empty() ? text_of(report, "model") : o.quantised;
  if (o.quantised.empty() && !std::filesystem::is_regular_file(path)) {
    missing = "the quantised program that was compiled is not at hand";
    return {};
  }
  Graph g = front(path);
  if (double(given_scales(g)) == given) return g;
  if (!o.quantised.empty())
    throw Error(Code::mismatch, path + " is not the quantised program that this image was compiled from", kWrongModel);
  missing = path + " is another program now";
  return {};
}

void set_layout(Mapped& m, const Json& step, const Shape& shape) {
  for (const Json& d : list_of(step, "perm")) m.io.perm.push_back(d.is_number_integer() ? d.get<int>() : -1);
  m.io.shape = shape;
  if (m.io.perm.empty())
    for (size_t d = 0; d < shape.size(); d++) m.io.perm.push_back(int(d));
  m.io.scale = m.grid.scale, m.io.zero = m.grid.zero, m.io.bytes = uint32_t(m.io.elements());
  std::vector<int> sorted = m.io.perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < sorted.size(); d++)
    if (sorted.size() != shape.size() || sorted[d] != int(d)) return void(m.real = kNone);
  m.index = torch_index(m.io);
}

// Real values for the steps of a program that was quantised in PyTorch, by where its nodes come from.
void map_by_origin(Subject& s, const Graph* source, const Json& report) {
  std::set<std::string> present;
  for (const Json& step : list_of(report, "steps")) present.insert(text_of(part_of(step, "from"), "node"));
  const Counterparts counterparts(s.real, present);
  for (size_t i = 0; i < s.steps.size(); i++)
    if (const Json& from = part_of(list_of(report, "steps")[i], "from"); !from.is_null())
      s.steps[i].real = counterparts.of(origin_of(from));
  if (!source) return;
  s.real_of.assign(source->values.size(), kNone);
  for (size_t i = 0; i < source->inputs.size(); i++) s.real_of[size_t(source->inputs[i])] = s.real.inputs[i];
  for (const Node& n : source->nodes)
    if (const auto o = source->origins.find(node_of_value((*source)[n.out[0]].name)); o != source->origins.end())
      s.real_of[size_t(n.out[0])] = counterparts.of(o->second);
}

void map_steps(Subject& s, const Graph* source, const Program& program, const Json& report, bool by_origin) {
  const Json& steps = list_of(report, "steps");
  if (steps.size() != program.steps().size()) return;
  s.steps.resize(steps.size());
  if (by_origin) map_by_origin(s, source, report);
  const std::map<std::string, ValueId> names = source ? values_by_name(*source) : std::map<std::string, ValueId>();
  for (size_t i = 0; i < steps.size(); i++) {
    Mapped& m = s.steps[i];
    const auto scale = number_of(steps[i], "scale"), zero = number_of(steps[i], "zero_point");
    const auto named = names.find(text_of(steps[i], "value"));
    if (named != names.end()) m.source = named->second;
    if (!by_origin) m.real = m.source;
    if (!scale || !(*scale > 0) || !zero) m.real = kNone;
    if (m.real == kNone) continue;
    m.grid = {*scale, int_of(steps[i], "zero_point", 0)};
    set_layout(m, steps[i], s.real[m.real].shape);
  }
}

}  // namespace

Subject subject_of(const std::string& model, const Program& program, const Samples& samples, const Json& report,
                   const CompareOptions& o) {
  Subject s;
  s.real = front(model);
  check_interface(s.real, program);
  const auto given = number_of(part_of(report, "calibration"), "given_scales");
  const bool original = given && *given > 0 && given_scales(s.real) == 0;
  std::optional<Graph> source;
  if (original) {
    s.real = unfused(model);
    source = quantised_program(o, report, *given, s.no_fake);
  } else {
    source = s.real;
    s.real_of.resize(s.real.values.size());
    std::iota(s.real_of.begin(), s.real_of.end(), 0);
  }
  map_steps(s, source ? &*source : nullptr, program, report, original);
  if (s.steps.empty()) s.no_fake = "the report that tells the scales is missing";
  if (source && s.no_fake.empty()) s.fake = fake_quantised(*source, program, report, samples);
  for (size_t i = 0; i < s.real.outputs.size(); i++) {
    Mapped m;
    m.real = s.real.outputs[i], m.io = program.outputs()[i], m.index = torch_index(m.io);
    if (s.fake) m.source = s.fake->outputs[i];
    if (m.io.dtype == DType::i8) m.grid = {m.io.scale, m.io.zero};
    s.outputs.push_back(std::move(m));
  }
  return s;
}

}  // namespace corten
