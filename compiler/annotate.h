// Quantise/dequantise pairs of the program become scales on values.
#pragma once
#include "ir/graph.h"

namespace corten {

// After this no dequantize node is left, and a quantize node only where a value changes its scale.
void annotate(Graph&);

}  // namespace corten
