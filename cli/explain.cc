#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "compiler/json.h"
#include "ir/close_names.h"

namespace corten::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSetting =
    "(as in a notebook, after `import numpy as np, torch, corten`: `model` is a small network, `x` an input, `samples` a list of\n"
    "100; model.pt2, calib.npz and build/ are their export, their data and what `corten compile` made of them)";

const CodeInfo& code_named(const std::string& text) {
  if (const CodeInfo* info = find_code(text)) return *info;
  std::string close;
  for (const CodeInfo& c : all_codes())
    if (edit_distance(text, c.text) <= 1) close += (close.empty() ? "" : ", ") + std::string(c.text);
  throw Error(Code::usage, "there is no code " + text,
              close.empty() ? "`corten explain` lists all codes" : "did you mean " + close + "?");
}

Json to_json(const CodeInfo& c) {
  return {{"code", c.text}, {"name", c.name}, {"title", c.title}, {"why", c.why}, {"wrong", c.wrong}, {"right", c.right}};
}

void show_code(std::string_view code) {
  for (size_t at = 0; at <= code.size();) {
    const size_t end = std::min(code.find('\n', at), code.size());
    const std::string_view line = code.substr(at, end - at);
    fmt::print("{}{}\n", line.empty() ? "" : "    ", line);
    at = end + 1;
  }
}

void show(const CodeInfo& c) {
  const Style style = style_of(1);
  fmt::print("{}{}: {}{}\n\n{}\n", style.colour ? "\033[1m" : "", c.text, c.title, style.colour ? "\033[0m" : "", c.why);
  if (c.wrong.empty()) return;
  fmt::print("\nWrong:\n\n");
  show_code(c.wrong);
  fmt::print("\nRight:\n\n");
  show_code(c.right);
  fmt::print("\n{}\n", kSetting);
}

void run(const std::string& text, bool json) {
  if (!text.empty()) {
    const CodeInfo& c = code_named(text);
    json ? fmt::print("{}", json_text(to_json(c))) : show(c);
    return;
  }
  Json all = Json::array();
  for (const CodeInfo& c : all_codes()) {
    if (json)
      all.push_back(to_json(c));
    else
      fmt::print("{}  {}\n", c.text, c.title);
  }
  if (json) fmt::print("{}", json_text(all));
}

}  // namespace

void add_explain(CLI::App& app) {
  auto text = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("explain", "what a message's code means, with a wrong and a right example");
  c->add_option("code", *text, "as in a message: C0101 (default: list all)")->type_name("CODE");
  c->add_flag("--json", *json, "print JSON");
  c->footer("Example:\n  corten explain C0101");
  c->callback([text, json] { run(*text, *json); });
}

}  // namespace corten::cli
