// What each layer costs: the noise in the outputs where only that layer is quantised.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compare.h"

namespace corten {

// Values of the fake-quantised program and of the float one that are the same tensor.
struct Layer {
  ValueId source = kNone, real = kNone;
};

// Squared error and power of the outputs, summed over samples, for each layer.
struct Costs {
  std::vector<double> noise;  // by layer; negative: not known
  double signal = 0;
};

// One sample after the other through `real`, each time with one layer as in `source` (weights and output on their grids).
// real_of: by ValueId of source.
Costs layer_costs(const Graph& real, const Graph& source, const std::vector<ValueId>& real_of, const std::vector<Layer>& layers,
                  const Samples&, int64_t count, const std::function<void()>& tick);

// As many samples as are cheap beside the comparison itself, 16 at most; 0: none are.
int64_t samples_to_rank(const nlohmann::ordered_json& report, int64_t samples);

// Shares of the noise, and for the steps that cost most what would help, by facts of the comparison and of the program.
void advise(Comparison&, const Graph& source, const nlohmann::ordered_json& report, const std::vector<ValueId>& step_values);

}  // namespace corten
