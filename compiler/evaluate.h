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

// Executes one sample at a time; one Evaluator per thread.
class Evaluator {
 public:
  explicit Evaluator(const Graph&);
  // inputs: one pointer per graph input, contiguous float32. `seen` is called for every activation (inputs too) when it is made.
  void run(const std::vector<const float*>& inputs, const std::function<void(ValueId, const float*, int64_t)>& seen = {});
  const std::vector<float>& value(ValueId v) const { return buffers_[size_t(v)]; }

 private:
  const Graph& g_;
  std::vector<std::vector<float>> buffers_;  // by value; constants are filled once
};

}  // namespace corten
