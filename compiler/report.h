// report.json: what was compiled, where every byte goes and why. The schema is in docs/report.md.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

#include "compiler/pipeline.h"

namespace corten {

nlohmann::ordered_json report_json(const Compiled&, const CompileOptions&);
std::string_view observer_name(Observer);  // "min-max", "histogram MSE"

}  // namespace corten
