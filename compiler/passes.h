// The passes, in the order pipeline.cc calls them. Each is a file, a verb and one signature; none names an operator.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "compiler/planned.h"
#include "ir/graph.h"
#include "runtime/tier.h"

namespace corten {

// Takes ATen nodes of these names out: what they read becomes an output, what they give an input.
void cut(Graph&, const std::set<std::string>& names);

// ATen nodes -> operators of ops.def; constants folded; q/dq pairs become scales on values.
void legalize(Graph&);

// Batch norms, clamps, pads and unary chains go into their neighbours where these can take them.
void fuse(Graph&);

// How ranges are chosen where the program gives no scales.
enum class Observer { minmax, mse };

// What calibration saw of one value over all samples.
struct Range {
  float lo = 0, hi = 0;
  bool seen = false, finite = true;
  float bound = 0;  // the histogram covers [-bound, bound)
  std::vector<double> histogram;
  std::vector<float> channel_mean;  // of dim 1; empty below rank 2
};
struct Calibration {
  std::vector<Range> ranges;  // by ValueId; only activations
  int64_t samples = 0;
};

// The scales of every value: given ones kept, others from the calibration; constants quantised.
void quantize(Graph&, const Calibration*, Observer);

// Warnings: layers that were left out where the program was quantised in PyTorch. For programs that give scales.
std::vector<Diag> kept_float(const Graph&);

// Channels whose value does not depend on the input are left out, exactly.
void prune(Graph&);

// Channels-last order for the whole program; transposes pushed out of the way, at best into the inputs and outputs.
void layout(Graph&);

struct PlanOptions {
  bool keep_inputs = false;
  bool float_io = false;
};
// Kernel rows picked and constants packed, one step a node.
std::vector<PlannedStep> select(const Graph&, Tier, Goal);
PlannedStep select_one(const Graph&, const Node&, Tier, Goal);
// The order of steps that needs least memory at once; graph and steps alike.
void order(Graph&, std::vector<PlannedStep>&);
// Arena offsets for every value and scratch.
Planned plan(const Graph&, std::vector<PlannedStep> steps, const PlanOptions&);
// The operands that a step's places stand for: inputs, then outputs. Constants that the operator packs are none.
std::vector<ValueId> run_time_operands(const Graph&, const Node&);
// Throws if two live values of the plan overlap: an independent recount from the steps alone.
void check_plan(const Planned&);

}  // namespace corten
