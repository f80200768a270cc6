// What a comparison is of: the float program, the fake-quantised one, and which of their values each step of the image is.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/compare.h"

namespace corten {

// How its int8 values stand for real ones; scale 0: it is float32.
struct Grid {
  double scale = 0;
  int32_t zero = 0;
};

// A tensor of the program in its stages.
struct Mapped {
  ValueId real = kNone, source = kNone;  // in the float program; in the fake-quantised one
  IoInfo io;
  Grid grid;
  std::vector<uint32_t> index;  // of device elements in PyTorch's order
};

struct Subject {
  Graph real;
  std::optional<Graph> fake;
  std::string no_fake;
  std::vector<Mapped> steps, outputs;
  std::vector<ValueId> real_of;  // by value of the fake-quantised program
};

Subject subject_of(const std::string& model, const Program&, const Samples&, const nlohmann::ordered_json& report,
                   const CompareOptions&);

}  // namespace corten
