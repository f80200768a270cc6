// report.json: what was compiled, where every byte goes and why; with what was measured of it, if anything. docs/report.md has the
// schema. compiler/report_html.h makes a page of it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "compiler/pipeline.h"

namespace corten {

inline constexpr int kReportVersion = 1;  // of the schema

nlohmann::ordered_json report_json(const Compiled&, const CompileOptions&);
nlohmann::ordered_json skipped_rows(const Lowered&);
std::string_view observer_name(Observer);  // "min-max", "histogram MSE"

// Is this a report of this version's schema? All of its steps are objects then; other fields may be anything.
bool is_report(const nlohmann::ordered_json&);

// Figures that are not known at compile time, put where the schema has them. Each throws Error, naming `file`, where the figures
// are of another program.
void merge_bench(nlohmann::ordered_json& report, const nlohmann::ordered_json& bench, const std::string& file);
void merge_comparison(nlohmann::ordered_json& report, const nlohmann::ordered_json& comparison, const std::string& file);
// What the report says against an earlier one: an extract of that.
void merge_earlier(nlohmann::ordered_json& report, const nlohmann::ordered_json& earlier, const std::string& file);

// As text; bytes that are no UTF-8 (of a path, say) are replaced.

}  // namespace corten
