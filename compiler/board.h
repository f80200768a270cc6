// An image on its emulated board: outputs, and what an inference costs.
#pragma once
#include <stdint.h>

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/cycles.h"
#include "compiler/npz.h"
#include "compiler/program_file.h"
#include "compiler/trace_log.h"

namespace corten {

inline constexpr int64_t kTracedSamples = 16;  // each prints several times its activations' bytes

inline constexpr int kLongestRun = 1'000'000;  // in seconds; its milliseconds are an int

struct BoardOptions {
  int timeout_seconds = 600;   // at most kLongestRun
  bool trace = false;          // let the board print all values (runtime/trace.h)
  std::filesystem::path keep;  // where the ELF that ran and what a bench counted are left; empty: nowhere
};

struct BoardRun {
  std::vector<Sample> outputs;
  std::string log;  // all that the board printed, if it was to trace
  uint32_t init_stack_bytes = 0, run_stack_bytes = 0, state_bytes = 0;
};
// Throws Error where the board faults, stops or takes too long.
BoardRun run_on_board(const Program&, const std::vector<Sample>& samples, const BoardOptions& = {});

// What the emulated board prints of the first samples, read back: each inference's values.
BoardDump trace_on_board(const Program&, const Samples&, int64_t count = kTracedSamples);

struct BenchStep {
  std::string node, kernel;
  uint64_t instructions = 0, cycles = 0;  // the runtime's dispatch included; cycles are estimates, see cycles.h
  Counts counts;
};

struct Bench {
  std::string model, target, elf, counts;  // files; empty unless kept
  uint64_t instructions = 0, cycles = 0;   // of one inference
  uint32_t arena_bytes = 0;                // scratch included
  uint32_t state_bytes = 0, stack_bytes = 0, init_stack_bytes = 0;
  uint32_t image_bytes = 0;                   // all of model.corten
  uint32_t code_bytes = 0;                    // all other flash but start-up and harness
  std::map<std::string, uint32_t> flash;      // bytes by section of the ELF
  std::map<std::string, uint64_t> functions;  // instructions by function
  std::vector<BenchStep> steps;
  Counts rest;  // after the last step
};
// One inference, on `input` or on made-up values where that is empty; exact, so once is enough.
Bench bench_on_board(const Program&, const Sample& input = {}, const BoardOptions& = {});
nlohmann::json to_json(const Bench&);

}  // namespace corten
