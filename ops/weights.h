// Weights with one scale per output channel: what conv2d and linear share. Operands: x, weight (dim 0 = output channel), bias.
#pragma once
#include "ops/op.h"

namespace corten {

bool has_clamp(const Node&);
// Narrows attrs clamp_lo / clamp_hi; always true.
bool intersect_clamp(Node&, Clamp);
Clamp clamp_of(const Node&);

// y = conv(x) -> y * scale[o] + shift[o], folded into constant float weights and bias.
bool scale_outputs(Graph&, Node&, const Affine&);

// Float weights -> int8, symmetric, one scale per output channel: max|w| / 127, no smaller than what keeps the bias below 2^29.
// Bias -> int32 at scale in * weight. Weights that are int8 already keep their scale.
void quantise_weights(Graph&, Node&);

// Everything a packing starts from; accumulators checked against 32 bits.
struct WeightTables {
  std::vector<int8_t> weights;             // as stored, (out, taps)
  std::vector<int32_t> bias, mult, shift;  // bias holds -in_zero * sum(w)
  int in_zero, out_zero, lo, hi;
  bool shifts_positive, acc30, per_tensor;
};
WeightTables weight_tables(const Graph&, const Node&, int64_t taps);
std::string largest_factor(const WeightTables&);  // input scale * weight scale / output scale, over the output channels

// ---- channels that never change; weights are (out, in / groups, ...) int8 by now -------------------------------------------

struct DenseShape {
  int64_t groups = 1;
  bool padded = false;  // some taps read the zero point in place of the input
};
ChannelBounds weight_bounds(const Graph&, const Node&, const ChannelBounds* in, DenseShape);
void keep_weight_outputs(Graph&, Node&, const std::vector<int>& keep);
// Input channels out of weights of one group; their constant values into the bias.
void fold_weight_inputs(Graph&, Node&, const std::vector<int>& keep, const std::vector<int>& values);

}  // namespace corten
