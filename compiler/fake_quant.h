// The program in float arithmetic with its scales: what is left of the error when only rounding to the grids counts.
#pragma once
#include <nlohmann/json.hpp>

#include "compiler/npz.h"
#include "compiler/program_file.h"
#include "ir/graph.h"

namespace corten {

// `source` with the scales that the program has (inputs) and its report tells (steps), constants on their grids, for an Evaluator
// that rounds. Biases take up the mean error of rounded weights as the compiler's do, by means over some of the samples. Values
// keep their ids. Throws Error where a scale is missing.
Graph fake_quantised(const Graph& source, const Program&, const nlohmann::ordered_json& report, const Samples&);

}  // namespace corten
