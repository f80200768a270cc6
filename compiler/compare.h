// A program before and after quantisation, stage by stage: float32, the same with its scales in float arithmetic (fake_quant), int8
// on the host, int8 on a board.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/npz.h"
#include "compiler/program_file.h"
#include "compiler/trace_log.h"
#include "ir/graph.h"

namespace corten {

enum class Stage { fake_quant, host, board };  // the float stage is what they are measured against
inline constexpr const char* kStageNames[] = {"fake_quant", "host", "board"};
inline constexpr size_t kStages = 3;

// One tensor in one stage, over all samples that have it.
struct StageError {
  double sqnr_db = 0;    // 20 log10(|x| / |x - y|); 200: no difference
  double max_error = 0;  // largest |x - y|
  // Not of float32 outputs:
  std::optional<double> saturated;   // part of the values: at an end of the int8 range, and float lies beyond
  std::optional<double> range_used;  // (largest - smallest + 1) / 256 of the int8 values seen
};
using StageErrors = std::array<std::optional<StageError>, kStages>;

struct StepError {
  std::string node, op, kernel;
  Location where;
  StageErrors stages;
  double crest = 0;                 // float: largest |x| over the root of the mean square
  std::optional<double> alone_db;   // SQNR of the outputs where only this step is quantised
  std::optional<double> noise;      // its part of the sum of what all steps do so
  std::vector<std::string> advice;  // what would help, for those that cost most
};

// Where host and board first differ, in the order of inferences, steps and elements (device order).
struct Difference {
  int64_t inference = 0;
  std::string tensor;  // "step 3 (conv2d_1)", "output 0"
  uint64_t index = 0;
  int host = 0, board = 0;
};

struct BoardResult {
  std::string source;
  int64_t samples = 0, tensors = 0;  // that were compared with the host's
  std::optional<Difference> first_difference;
};

// Outputs of a stage: for each, the values of all its samples in PyTorch's order.
struct StageOutputs {
  std::string stage;             // "float" or of kStageNames
  std::vector<int64_t> samples;  // which
  std::vector<std::vector<float>> values;
};

struct Comparison {
  int64_t samples = 0;
  std::vector<StepError> steps;  // in execution order; empty without a report
  std::vector<StageErrors> outputs;
  std::string no_fake_quant;  // why that stage is missing; "" if it is not
  std::optional<BoardResult> board;
  int64_t ranked_samples = 0;         // 0: not ranked
  std::vector<StepError> input_cost;  // of rounding the inputs: node, alone_db and noise only
  bool labelled = false;
  double top1_float = 0, top1_int8 = 0;  // with labels
  double top1_same = 0;                  // first output: both have the same largest element
  nlohmann::ordered_json metrics;        // by name, by stage
  std::vector<StageOutputs> kept;        // if asked for
};

struct CompareOptions {
  std::string quantised;                            // the .pt2 with scales that the image was compiled from, if `model` is its
                                                    // float original; "": as the report says
  std::optional<std::vector<std::string>> metrics;  // unset: what is sensible
  std::optional<bool> rank;                         // unset: if that is cheap
  std::shared_ptr<const BoardDump> board;           // null: no such stage
  bool keep_outputs = false;
  std::function<void(int64_t done, int64_t all)> progress;  // on any thread, one at a time; what it throws ends the comparison
};

// model: the .pt2 that the image was compiled from, or the float model that this was made from. report: report.json of the image,
// which says how steps belong to the program; null: outputs only.
Comparison compare(const std::string& model, const Program&, const Samples&, const nlohmann::ordered_json& report,
                   const CompareOptions& = {});
double decibels(double signal, double noise);  // 200 without noise
nlohmann::ordered_json to_json(const Comparison&);

}  // namespace corten
