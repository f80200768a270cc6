// The report as one HTML file: figures, inline SVG, style and a little script; nothing is fetched.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace corten {

// From report.json alone (compiler/report.h). Fields that are missing show as unavailable; text is escaped wherever it came from.
std::string report_html(const nlohmann::ordered_json& report);

}  // namespace corten
