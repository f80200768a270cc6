// Reading report.json without trust: a field that is missing or of another type reads as absent.
#pragma once
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace corten {

inline std::string text_of(const nlohmann::ordered_json& j, const char* key) {
  const auto it = j.is_object() ? j.find(key) : j.end();
  return it != j.end() && it->is_string() ? it->get<std::string>() : "";
}

inline std::optional<double> number_of(const nlohmann::ordered_json& j, const char* key) {
  const auto it = j.is_object() ? j.find(key) : j.end();
  if (it == j.end() || !it->is_number()) return {};
  const double value = it->get<double>();
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

// A whole number, such as a step.
inline int int_of(const nlohmann::ordered_json& j, const char* key, int missing) {
  return int(std::clamp(number_of(j, key).value_or(missing), -1e9, 1e9));
}

inline bool flag_of(const nlohmann::ordered_json& j, const char* key) {
  const auto it = j.is_object() ? j.find(key) : j.end();
  return it != j.end() && it->is_boolean() && it->get<bool>();
}

// A field that is an array or an object; null where it is neither.
inline const nlohmann::ordered_json& part_of(const nlohmann::ordered_json& j, const char* key) {
  static const nlohmann::ordered_json null;
  const auto it = j.is_object() ? j.find(key) : j.end();
  return it != j.end() && it->is_structured() ? *it : null;
}

inline const nlohmann::ordered_json& list_of(const nlohmann::ordered_json& j, const char* key) {
  static const nlohmann::ordered_json none = nlohmann::ordered_json::array();
  const nlohmann::ordered_json& found = part_of(j, key);
  return found.is_array() ? found : none;
}

// What a row of steps[].skipped_rows[] asks for and does not get: words, and the values here in parentheses.
inline std::string unmet_text(const nlohmann::ordered_json& row) {
  std::string s;
  for (const nlohmann::ordered_json& u : list_of(row, "unmet")) {
    const std::string actual = text_of(u, "actual");
    s += (s.empty() ? "" : "; ") + text_of(u, "needs") + (actual.empty() ? "" : " (here: " + actual + ")");
  }
  return s.empty() ? text_of(row, "condition") : s;  // an earlier version's report has no words
}

}  // namespace corten
