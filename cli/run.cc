#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/samples.h"
#include "compiler/board.h"
#include "compiler/npz.h"
#include "compiler/process.h"
#include "compiler/program_file.h"

namespace corten::cli {

namespace {

struct Options {
  std::string image, input, output, trace, on = "host";
  int timeout = BoardOptions().timeout_seconds;
  bool as_float = false;
};

void print_arrays(const std::vector<NpArray>& arrays) {
  for (const NpArray& a : arrays) {
    const int64_t per = a.shape.empty() || !a.shape[0] ? 0 : elements(a.shape) / a.shape[0];
    fmt::print("{} {} {}\n", a.name, to_text(a.dtype), to_text(a.shape));
    const std::vector<float> values = a.floats();
    for (int64_t s = 0; s < std::min<int64_t>(a.shape[0], 8); s++) {
      std::string line;
      for (int64_t i = 0; i < std::min<int64_t>(per, 12); i++) line += fmt::format(" {:.6g}", values[size_t(s * per + i)]);
      fmt::print("  [{}]{}{}\n", s, line, per > 12 ? " ..." : "");
    }
    if (a.shape[0] > 8) fmt::print("  ... {} more\n", a.shape[0] - 8);
  }
}

std::vector<Sample> on_board(const Program& program, const std::vector<Sample>& in, const Options& o) {
  BoardOptions options;
  options.trace = !o.trace.empty(), options.timeout_seconds = o.timeout;
  BoardRun run = run_on_board(program, in, options);
  if (options.trace) write_text(o.trace, run.log);
  return std::move(run.outputs);
}

void run(const Options& o) {
  const Program program = Program::load(o.image);
  const std::vector<Sample> in = device_samples(program, read_samples(o.input, program));
  const std::vector<Sample> out = o.on == "qemu" ? on_board(program, in, o) : program.run_all(in);
  std::vector<NpArray> arrays;
  for (size_t i = 0; i < program.outputs().size(); i++) arrays.push_back(output_array(program, i, out, o.as_float));
  if (o.output.empty())
    print_arrays(arrays);
  else
    write_arrays(o.output, arrays);
}

}  // namespace

void add_run(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("run", "run an image over inputs, on the host or on an emulated board: the same bytes");
  c->add_option("image", o->image, "model.corten")->type_name("FILE")->required();
  c->add_option("-i,--input", o->input, "inputs in PyTorch's order, samples first: .npz (in0, in1, ...) or .npy")
      ->type_name("FILE")
      ->required();
  c->add_option("-o,--output", o->output, "where outputs go, in PyTorch's order: .npz (out0, ...) or .npy (default: print them)")
      ->type_name("FILE");
  c->add_option("--on", o->on, "host or qemu")->check(CLI::IsMember({"host", "qemu"}))->capture_default_str();
  c->add_option("--trace", o->trace, "on qemu: where to keep what the board prints, all values of each step (`corten decode`)")
      ->type_name("FILE");
  c->add_option("--timeout", o->timeout, "seconds that the board may take")
      ->check(CLI::Range(1, kLongestRun))
      ->capture_default_str();
  c->add_flag("--float", o->as_float, "dequantise the outputs");
  c->footer("Example:\n  corten run build/kws/model.corten --input x.npz --on qemu --output y.npz --float");
  c->callback([o] {
    if (!o->trace.empty() && o->on != "qemu") throw CLI::ValidationError("--trace", "takes what a board prints: give --on qemu");
    run(*o);
  });
}

}  // namespace corten::cli
