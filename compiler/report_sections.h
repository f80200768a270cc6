// The sections of report.html, each a string of HTML made from report.json, and what they share.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace corten {

extern const char* const kReportStyle;   // CSS
extern const char* const kReportScript;  // JavaScript

std::string budget_section(const nlohmann::ordered_json& report);
std::string advice_section(const nlohmann::ordered_json& report);
std::string arena_section(const nlohmann::ordered_json& report);
std::string steps_section(const nlohmann::ordered_json& report);
std::string accuracy_section(const nlohmann::ordered_json& report);
std::string decisions_section(const nlohmann::ordered_json& report);
std::string difference_section(const nlohmann::ordered_json& report);

// Something to look at: what it is about, and its size in bytes, cycles or decibels (one of them, or none).
struct Advice {
  std::string text;
  std::vector<int> steps;  // that it is about
  std::optional<double> bytes = {}, cycles = {}, db = {};
};
std::vector<Advice> advice_on(const nlohmann::ordered_json& report);

// The figure that stands for time: estimated cycles where there are any, else instructions, else nothing.
struct TimeFigure {
  const char* key = nullptr;  // of the report; null: nothing was measured
  const char* name = "Cycles";
  const char* how = "unavailable";
  const char* unit = "cycles";
};
TimeFigure time_figure(const nlohmann::ordered_json& report);

const nlohmann::ordered_json& step_at(const nlohmann::ordered_json& report, int step);  // null where there is none
std::string step_name(const nlohmann::ordered_json& report, int step);                  // "step 3 (conv2d_1)", not escaped
std::string step_link(const nlohmann::ordered_json& report, int step);                  // to its row, as HTML
std::string source_of(const nlohmann::ordered_json& where);                             // "model.py:12 self.conv(x)", not escaped
std::string shape_of(const nlohmann::ordered_json& shape);                              // "1×8×8×16"

}  // namespace corten
