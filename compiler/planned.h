// What plan makes and emit writes: steps in order, where every byte lies, what the outside sees.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace corten {

// Where an operand's bytes are: in the arena, or in a constant of the image.
struct Place {
  bool constant = false;
  uint32_t offset = 0;  // arena offset (16-aligned); for a constant: index into Planned::constants
  uint32_t bytes = 0;
};

struct PlannedStep {
  std::string node, aten;  // for reports and the bench
  Location where;
  Lowered lowered;
  std::vector<Place> operands;  // inputs, then outputs
  uint32_t outputs = 1;         // how many of them are outputs
  uint32_t scratch_offset = 0;  // arena offset, 16-aligned; lowered.scratch_bytes of it
};

struct PlannedIo {
  std::string name;         // as exported
  DType dtype = DType::i8;  // i8, or f32 with --float-io
  Shape shape;              // PyTorch's
  std::vector<int> perm;    // device dim i is PyTorch dim perm[i]
  double scale = 1;
  int32_t zero = 0;
  Place place;
};

struct Planned {
  std::string name;    // of the model, a C identifier
  std::string target;  // "cortex-m55"
  Tier tier = Tier::scalar;
  uint32_t arena_bytes = 0;  // scratch included
  std::vector<PlannedStep> steps;
  std::vector<std::vector<uint8_t>> constants;  // constant operands
  std::vector<PlannedIo> inputs, outputs;
  // For the report: bytes live at each step, the lower bound (largest working set of one step) and where each is reached.
  std::vector<uint32_t> live_bytes;
  uint32_t lower_bound = 0;
  int peak_step = 0, bound_step = 0;
};

}  // namespace corten
