// Runs the float program over calibration data and records what every value's range needs.
#pragma once
#include <functional>
#include <vector>

#include "compiler/passes.h"
#include "ir/graph.h"

namespace corten {

// inputs[i]: all samples of graph input i, contiguous float32. Samples are spread over threads; the result does not depend on how.
Calibration calibrate(const Graph&, const std::vector<std::vector<float>>& inputs, int64_t count,
                      const std::function<void(int64_t done)>& progress = {});

// The part of a range that is worth keeping: least expected squared error of 8-bit quantisation over the histogram, zero included.
void best_range(const Range&, double& lo, double& hi);

// Runs fn(first, last) over [0, count) in parallel; rethrows the first exception.
void parallel_for(int64_t count, const std::function<void(int64_t first, int64_t last)>& fn);

}  // namespace corten
