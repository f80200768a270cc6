// From a .pt2 file to a graph of ATen nodes.
#pragma once
#include <set>
#include <string>

#include "ir/graph.h"

namespace corten {

// Reads what torch.export.save of torch 2.13 wrote. Throws Error, or Errors where several nodes are at fault.
//
// User inputs become graph inputs; parameters, buffers and lifted constants become constants (named as in the state dict,
// "conv.weight"); float types of any width are f32. Nodes keep their ATen name and overload ("aten.conv2d.default"), tensor
// arguments are operands under their schema name, all other arguments are attributes. Scalar types and memory formats are integers
// of the export schema. Asserts and symbolic arithmetic that only asserts read are dropped. Operators that write in place are kept
// where reading the result is the same. Nodes `without` may have faults: they are to be cut out.
Graph import_pt2(const std::string& path, const std::set<std::string>& without = {});

}  // namespace corten
