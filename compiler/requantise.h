// The one operator that passes make by themselves: int8 to int8 under another scale, a table without stages.
#pragma once
#include "ops/op.h"

namespace corten {

inline Node requantise_node(const Node& beside, ValueId from, ValueId to) {
  Node n;
  n.op = operator_that([](const Op& op) { return op.as_unary != nullptr; }).name;
  n.name = beside.name + ".requantise", n.aten = beside.aten, n.where = beside.where;
  n.in = {from}, n.out = {to};
  n.attrs["fns"] = std::vector<std::string>{};
  n.attrs["args"] = std::vector<double>{};
  return n;
}

inline bool is_requantise(const Node& n) { return n.op == "lut" && n.texts("fns").empty(); }

}  // namespace corten
