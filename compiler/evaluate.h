// The float32 reference executor: the graph as it stands after legalize or fuse, in PyTorch's order.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "ir/graph.h"

namespace corten {

// A constant as float32, scales applied.
std::vector<float> constant_floats(const Graph&, ValueId);
// The result of a node whose operands are all constants.
std::shared_ptr<Tensor> evaluate_constant(const Graph&, const Node&);

// Rounds to a scale per tensor, as PyTorch's fake quantisation does.
void round_to(const Quant&, std::vector<float>&);

// Executes one sample at a time; one Evaluator per thread.
class Evaluator {
 public:
  // rounding: every activation that has a scale is rounded to it when it is made (fake quantisation).
  explicit Evaluator(const Graph&, bool rounding = false);
  // inputs: one pointer per graph input, contiguous float32. `seen` is called for every activation (inputs too) when it is made.
  void run(const std::vector<const float*>& inputs, const std::function<void(ValueId, const float*, int64_t)>& seen = {});
  void run_from(size_t first);  // the nodes from this one on, with the values that are there
  const std::vector<float>& value(ValueId v) const { return buffers_[size_t(v)]; }
  std::vector<float>& value(ValueId v) { return buffers_[size_t(v)]; }

 private:
  void run_node(const Node&);
  void round(ValueId);
  const Graph& g_;
  bool rounding_;
  std::vector<std::vector<float>> buffers_;  // by value; constants are filled once
};

}  // namespace corten
