// What runtime/trace.h printed on a board, read back from a log: the values of each step. docs/program.md has the framing.
#pragma once
#include <stdint.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/npz.h"
#include "compiler/program_file.h"

namespace corten {

struct TracedInference {
  int64_t number = 0;
  Traced values;  // device order; a tensor is empty where not all of its bytes came
};

struct IncompleteTensor {
  int64_t inference = 0;
  std::string tensor;  // "step 3 (conv2d_1)"
  uint64_t missing = 0, bytes = 0;
};

struct BoardDump {
  std::string source;                       // what was read
  std::vector<TracedInference> inferences;  // with anything whole, by number
  // Lines, by what became of them. bad: begun but not right to the end, or of no tensor of this image.
  int64_t used = 0, repeated = 0, bad = 0, other_image = 0;
  std::vector<int64_t> contradictory;        // inferences that were sent twice with different bytes: left out
  std::vector<IncompleteTensor> incomplete;  // something of them came, but not all
};

// Takes any text. Throws Error, naming `source`, where nothing of it is whole.
BoardDump decode_trace(std::string_view log, const Program&, const std::string& source);

// A dump as arrays and back: outK (inferences, *shape) in PyTorch's order, stepK (inferences, bytes) in the device's order, and for
// each NAME an array NAME.inference of their numbers.
std::vector<NpArray> dump_arrays(const BoardDump&, const Program&);
// Of a .npz of these arrays, or of a log.
BoardDump read_dump(const std::string& path, const Program&);

// Counts, and which steps are whole in which inference.
nlohmann::ordered_json to_json(const BoardDump&, const Program&);

}  // namespace corten
