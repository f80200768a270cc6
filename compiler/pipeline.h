// The compiler as one call: a .pt2 and calibration data in, a verified image with its plan and report data out.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/npz.h"
#include "compiler/passes.h"
#include "compiler/planned.h"
#include "ir/graph.h"

namespace corten {

struct CompileOptions {
  std::string model;  // path of the .pt2
  std::string target = "cortex-m55";
  std::string calibrate;                   // path of the data, "" if none
  std::shared_ptr<const Samples> samples;  // the data itself, instead of a path
  std::optional<Observer> observer;        // unset: whichever gives the lower output error
  Goal goal = Goal::balanced;
  PlanOptions plan;
  std::set<std::string> without;  // ATen nodes that are cut out, see passes.h
  std::function<void(const std::string& pass, const Graph&)> after_pass;
  // Called on any thread; what they throw ends the compilation.
  std::function<void(int64_t done, int64_t all)> progress;  // of calibration
  std::function<void()> check;                              // in what else takes long
};

struct Compiled {
  Graph real;     // after fuse: what the float executor runs
  Graph lowered;  // after layout: what the image does
  Planned planned;
  std::vector<uint8_t> image;
  int64_t samples = 0;  // of calibration
  Observer observer = Observer::minmax;
  std::vector<std::pair<Observer, double>>
      output_error;         // relative squared error of the outputs over calibration data, per observer tried
  std::vector<Diag> notes;  // warnings; already part of the report
};

Compiled compile(const CompileOptions&);

// What a program may use: per operator, the ATen names it claims.
std::vector<std::pair<std::string, std::vector<std::string>>> supported_operators();

bool needs_calibration(const Graph& real);  // some value has no scale of its own

// Values whose scale the program gives.
int64_t given_scales(const Graph& real);

// The program as operators, each ATen node still one of its own.
Graph unfused(const std::string& model);

// The program up to fuse, for compare and inspect.
Graph front(const std::string& model, const std::function<void(const std::string&, const Graph&)>& after_pass = {},
            const std::set<std::string>& without = {});

}  // namespace corten
