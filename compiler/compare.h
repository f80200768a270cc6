// Float32 against int8 on the host, per step and for the outputs.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/npz.h"
#include "compiler/program_file.h"
#include "ir/graph.h"

namespace corten {

struct StepError {
  std::string node, op, kernel;
  Location where;
  double sqnr_db = 0;    // 20 log10(|x| / |x - y|) over all samples
  double saturated = 0;  // part of the int8 values at -128 or 127 where float lies outside
};

struct Comparison {
  int64_t samples = 0;
  std::vector<StepError> steps;  // in execution order; empty without a report
  std::vector<double> output_sqnr_db;
  bool labelled = false;
  double top1_float = 0, top1_int8 = 0;  // with labels
  double top1_same = 0;                  // first output: both have the same largest element
};

// `report`: report.json of the image, which says how steps belong to the float program; null: outputs only. `progress` is called on
// any thread, one at a time; what it throws ends the comparison.
Comparison compare(const Graph& real, const Program&, const Samples&, const nlohmann::ordered_json& report,
                   const std::function<void(int64_t done, int64_t all)>& progress = {});
nlohmann::ordered_json to_json(const Comparison&);

}  // namespace corten
