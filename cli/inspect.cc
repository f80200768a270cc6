#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "compiler/files.h"
#include "compiler/import.h"
#include "compiler/json.h"
#include "compiler/program_file.h"
#include "compiler/target.h"
#include "ir/graph.h"

namespace corten::cli {

namespace {

using Json = nlohmann::ordered_json;

Json io_json(const IoInfo& io) {
  return {{"name", io.name},   {"dtype", to_text(io.dtype)}, {"shape", io.shape},   {"perm", io.perm},
          {"scale", io.scale}, {"zero_point", io.zero},      {"offset", io.offset}, {"bytes", io.bytes}};
}

Json operand_json(const OperandInfo& o) {
  return {{"in", o.in_arena ? "arena" : "image"}, {"offset", o.offset}, {"bytes", o.bytes}};
}

Json step_json(const StepInfo& s) {
  Json j = {{"node", s.node}, {"kernel", s.kernel}, {"scratch_bytes", s.scratch_bytes}};
  j["operands"] = Json::array();  // inputs, then outputs
  for (const OperandInfo& o : s.operands) j["operands"].push_back(operand_json(o));
  j["outputs"] = s.outputs;
  return j;
}

void show_image(const std::string& path, bool json) {
  const Program p = Program::load(path);
  if (json) {
    Json j = {{"name", p.name()},
              {"target", p.target()},
              {"tier", to_text(p.tier())},
              {"image_bytes", p.image().size()},
              {"arena_bytes", p.arena_bytes()}};
    for (const IoInfo& io : p.inputs()) j["inputs"].push_back(io_json(io));
    for (const IoInfo& io : p.outputs()) j["outputs"].push_back(io_json(io));
    for (const StepInfo& s : p.steps()) j["steps"].push_back(step_json(s));
    fmt::print("{}", json_text(j));
    return;
  }
  fmt::print("{} for {} ({} kernels): image {} bytes, arena {} bytes\n", p.name(), p.target(), to_text(p.tier()), p.image().size(),
             p.arena_bytes());
  const auto show = [](const char* what, const IoInfo& io) {
    fmt::print("{:<7} {:<24} {} {} scale {:.9g} zero point {}\n", what, io.name, to_text(io.dtype), to_text(io.shape), io.scale,
               io.zero);
  };
  for (const IoInfo& io : p.inputs()) show("input", io);
  for (const IoInfo& io : p.outputs()) show("output", io);
  for (size_t i = 0; i < p.steps().size(); i++) fmt::print("{:>4}  {:<36} {}\n", i, p.steps()[i].node, p.steps()[i].kernel);
}

Json value_json(const Value& v) { return {{"name", v.name}, {"dtype", to_text(v.dtype)}, {"shape", v.shape}}; }

Json constant_json(const Value& v) {
  Json j = value_json(v);
  j["bytes"] = v.data->bytes.size();
  if (v.dtype == DType::f32 && !v.data->bytes.empty()) {
    const float* first = v.data->as<float>();
    const auto [least, greatest] = std::minmax_element(first, first + elements(v.shape));
    j["min"] = *least, j["max"] = *greatest;
  }
  return j;
}

// JSON has no infinity: those are words.
struct AttrJson {
  Json operator()(double v) const { return std::isfinite(v) ? Json(v) : Json(fmt::format("{}", v)); }
  Json operator()(const std::vector<double>& v) const {
    Json j = Json::array();
    for (double x : v) j.push_back((*this)(x));
    return j;
  }
  Json operator()(const auto& v) const { return v; }
};

Json node_json(const Graph& g, const Node& n) {
  Json j = {{"name", n.name},       {"aten", n.aten},         {"file", n.where.file},
            {"line", n.where.line}, {"text", n.where.text},   {"module", n.where.module},
            {"in", Json::array()},  {"in_names", n.in_names},  // arguments of the ATen schema
            {"out", Json::array()}, {"attrs", Json::object()}};
  for (ValueId v : n.in) j["in"].push_back(v == kNone ? Json() : Json(g[v].name));
  for (ValueId v : n.out) j["out"].push_back(v == kNone ? Json() : value_json(g[v]));
  for (const auto& [key, value] : n.attrs) j["attrs"][key] = std::visit(AttrJson(), value);
  return j;
}

void show_program(const std::string& path, bool json) {
  const Graph g = import_pt2(path);
  if (!json) {
    fmt::print("{}", print(g));
    return;
  }
  Json j = {{"source", path},
            {"inputs", Json::array()},
            {"outputs", Json::array()},
            {"constants", Json::array()},
            {"nodes", Json::array()}};
  for (ValueId v : g.inputs) j["inputs"].push_back(value_json(g[v]));
  for (ValueId v : g.outputs) j["outputs"].push_back(value_json(g[v]));
  for (const Value& v : g.values)
    if (v.data) j["constants"].push_back(constant_json(v));
  for (const Node& n : g.nodes) j["nodes"].push_back(node_json(g, n));
  fmt::print("{}", json_text(j));
}

struct Options {
  std::string file;
  bool json = false;
};

// Zip archives start with "PK"; everything else is taken for an image and refused by its own checks.
void run(const Options& o) {
  const std::vector<uint8_t> bytes = read_file(o.file);
  const bool zip = bytes.size() >= 2 && bytes[0] == 'P' && bytes[1] == 'K';
  const bool pt2 = zip || (o.file.size() > 4 && o.file.substr(o.file.size() - 4) == ".pt2");
  pt2 ? show_program(o.file, o.json) : show_image(o.file, o.json);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("inspect", "a .pt2 program or a .corten image as text");
  c->add_option("file", o->file, ".pt2 or .corten")->type_name("FILE")->required();
  c->add_flag("--json", o->json, "print JSON");
  c->footer("Examples:\n  corten inspect model.pt2\n  corten inspect build/kws/model.corten --json");
  c->callback([o] { run(*o); });
}

void add_targets(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("targets", "the cores that --target takes");
  c->add_flag("--json", *json, "print JSON");
  c->footer("Example:\n  corten targets");
  c->callback([json] {
    Json j = Json::array();
    for (const Target& t : all_targets()) {
      if (*json)
        j.push_back({{"name", t.name}, {"tier", to_text(t.tier)}, {"board", t.machine}, {"meaning", t.meaning}});
      else
        fmt::print("{:<15} {:<7} {}\n", t.name, to_text(t.tier), t.meaning);
    }
    if (*json) fmt::print("{}", json_text(j));
  });
}

}  // namespace corten::cli
