// What run, bench and compare share: samples from files into a program, outputs back into arrays.
#pragma once
#include <string>
#include <vector>

#include "compiler/npz.h"
#include "compiler/program_file.h"

namespace corten::cli {

Samples read_samples(const std::string& path, const Program&);

// Output `index` of all samples in PyTorch's order: (N, *shape[1:]) where shape[0] is 1, else (N, *shape).
NpArray output_array(const Program&, size_t index, const std::vector<Sample>& outputs, bool as_float);

}  // namespace corten::cli
