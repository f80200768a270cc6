// Which value of the float model a value of the program is that was made from it by quantisation in PyTorch.
#pragma once
#include <map>
#include <set>
#include <string>

#include "ir/graph.h"

namespace corten {

class Counterparts {
 public:
  // `real`: the float model after legalize, each ATen node still one of its own. `present`: where the other program's nodes come
  // from; a batch norm that is not there any more is part of the convolution before it.
  Counterparts(const Graph& real, std::set<std::string> present);
  // By the node's name in its first export if there is such a node of that operator, else by module, operator and order in it.
  ValueId of(const Origin&) const;

 private:
  ValueId with_batch_norm(ValueId) const;
  const Graph& real_;
  std::set<std::string> present_;
  std::map<std::string, ValueId> by_node_;
  std::map<std::string, std::string> by_place_;
};

// The node that a value is named after: "conv2d" of "conv2d.1".
std::string node_of_value(const std::string& value);

}  // namespace corten
