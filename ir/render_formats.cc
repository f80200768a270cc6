#include "ir/render_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& j) { return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

bool has_line(const Group& g) { return !g.diag.where.file.empty() && g.diag.where.line > 0; }

Json place_of(const Diag& d) { return {{"node", d.node}, {"aten", d.aten}, {"module", d.where.module}}; }

Json object_of(const Group& g) {
  const Diag& d = g.diag;
  const CodeInfo& info = info_of(d.code);
  Json j = {{"severity", to_text(d.severity)},
            {"code", info.text},
            {"title", info.title},
            {"message", d.message},
            {"notes", d.notes},
            {"help", d.help},
            {"subject", d.subject},
            {"file", g.file},
            {"line", has_line(g) ? Json(d.where.line) : Json()},
            {"column", g.column ? Json(g.column) : Json()},
            {"end_column", g.column ? Json(g.end_column) : Json()},
            {"function", d.where.function},
            {"text", d.where.text},
            {"places", Json::array()}};
  j["places"].push_back(place_of(d));
  for (const Diag& m : g.more) j["places"].push_back(place_of(m));
  return j;
}

// GitHub's escapes; within properties two more.
std::string escaped(std::string_view s, bool property) {
  std::string out;
  for (char c : s) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", uint8_t(c)) : std::string(1, c);
  }
  return out;
}

std::string uri_of(const std::string& path) {
  std::string uri;
  for (char c : path) {
    const bool plain = isalnum(uint8_t(c)) || std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", uint8_t(c));
  }
  return path.starts_with('/') ? "file://" + uri : uri;
}

Json text_object(std::string_view text) { return {{"text", text}}; }

Json rule_of(Code code) {
  const CodeInfo& info = info_of(code);
  return {{"id", info.text},
          {"name", info.name},
          {"shortDescription", text_object(info.title)},
          {"fullDescription", text_object(info.why)},
          {"help", text_object(fmt::format("{}\n`corten explain {}` has an example.", info.why, info.text))}};
}

Json location_of(const Group& g) {
  Json physical = {{"artifactLocation", {{"uri", uri_of(g.file)}}}};
  if (has_line(g)) {
    Json region = {{"startLine", g.diag.where.line}};
    if (g.column) region["startColumn"] = g.column, region["endColumn"] = g.end_column;
    if (!g.diag.where.text.empty()) region["snippet"] = text_object(g.diag.where.text);
    physical["region"] = region;
  }
  return {{"physicalLocation", physical}};
}

Json logical_of(const Group& g) {
  Json all = Json::array();
  const auto add = [&](const Diag& d) {
    if (d.where.module.empty() && d.node.empty()) return;
    Json l = {{"name", d.node.empty() ? d.where.module : d.node}};
    if (!d.where.module.empty()) l["fullyQualifiedName"] = d.where.module;
    all.push_back(l);
  };
  add(g.diag);
  for (const Diag& m : g.more) add(m);
  return all;
}

}  // namespace

std::string json_text(const std::vector<Group>& groups) {
  Json all = Json::array();
  for (const Group& g : groups) all.push_back(object_of(g));
  return dumped(all);
}

std::string github_text(const std::vector<Group>& groups) {
  std::string all;
  for (const Group& g : groups) {
    const Diag& d = g.diag;
    const CodeInfo& info = info_of(d.code);
    std::string properties = fmt::format("title={}", escaped(fmt::format("{} {}", info.text, info.title), true));
    if (has_line(g)) {
      if (g.column) properties = fmt::format("col={},endColumn={},{}", g.column, g.end_column - 1, properties);
      properties = fmt::format("line={},{}", d.where.line, properties);
    }
    if (!g.file.empty()) properties = fmt::format("file={},{}", escaped(g.file, true), properties);
    std::string message = d.message;
    for (const std::string& note : d.notes) message += "\nnote: " + note;
    if (!g.more.empty()) message += fmt::format("\nand {} more places", g.more.size());
    if (!d.help.empty()) message += "\nhelp: " + d.help;
    const std::string_view command = d.severity == Severity::note ? "notice" : to_text(d.severity);
    all += fmt::format("::{} {}::{}\n", command, properties, escaped(message, false));
  }
  return all;
}

std::string sarif_text(const std::vector<Group>& groups) {
  Json rules = Json::array(), results = Json::array();
  std::vector<Code> seen;
  for (const Group& g : groups) {
    const Diag& d = g.diag;
    auto rule = std::find(seen.begin(), seen.end(), d.code);
    if (rule == seen.end()) rules.push_back(rule_of(d.code)), rule = seen.insert(seen.end(), d.code);
    std::string message = d.message;
    for (const std::string& note : d.notes) message += "\n" + note;
    if (!d.help.empty()) message += "\n" + d.help;
    Json result = {{"ruleId", info_of(d.code).text},
                   {"ruleIndex", rule - seen.begin()},
                   {"level", to_text(d.severity)},
                   {"message", text_object(message)}};
    Json location = g.file.empty() ? Json::object() : location_of(g);
    if (const Json logical = logical_of(g); !logical.empty()) location["logicalLocations"] = logical;
    if (!location.empty()) result["locations"] = Json::array({location});
    results.push_back(result);
  }
  const Json driver = {{"name", "corten"}, {"version", CORTEN_VERSION}, {"rules", rules}};
  const Json run = {{"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}, {"results", results}};
  return dumped({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({run})}});
}

}  // namespace corten
