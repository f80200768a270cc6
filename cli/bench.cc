#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/samples.h"
#include "compiler/board.h"
#include "compiler/program_file.h"

namespace corten::cli {

namespace {

struct Options {
  std::string image, input, on = "qemu", keep;
  bool json = false;
};

void table(const Bench& b) {
  fmt::print("{} on {} (emulated; instruction counts are exact)\n\n", b.model, b.target);
  fmt::print("{:>4}  {:<36} {:<36} {:>12} {:>6}\n", "step", "node", "kernel", "instructions", "%");
  for (size_t i = 0; i < b.steps.size(); i++)
    fmt::print("{:>4}  {:<36} {:<36} {:>12} {:>6.1f}\n", i, b.steps[i].node, b.steps[i].kernel, b.steps[i].instructions,
               100.0 * double(b.steps[i].instructions) / double(std::max<uint64_t>(b.instructions, 1)));
  fmt::print("\ninstructions  {:>10} per inference\n", b.instructions);
  fmt::print("arena         {:>10} bytes, scratch included\nstate         {:>10} bytes\nstack         {:>10} bytes\n", b.arena_bytes,
             b.state_bytes, b.stack_bytes);
  fmt::print("image         {:>10} bytes\ncode          {:>10} bytes (runtime and kernels)\n", b.image_bytes, b.code_bytes);
  if (!b.elf.empty()) fmt::print("kept          {}\n", b.elf);
}

void run(const Options& o) {
  const Program program = Program::load(o.image);
  Sample input;
  if (!o.input.empty()) input = device_samples(program, read_samples(o.input, program)).at(0);
  BoardOptions options;
  options.keep = o.keep;
  const Bench b = bench_on_board(program, input, options);
  if (o.json)
    fmt::print("{}\n", to_json(b).dump(1));
  else
    table(b);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("bench", "instructions per step, stack, RAM and flash of one inference on an emulated board");
  c->add_option("image", o->image, "model.corten")->required();
  c->add_option("--on", o->on, "qemu")->check(CLI::IsMember({"qemu"}))->capture_default_str();
  c->add_option("-i,--input", o->input, "the first sample of this file instead of made-up values");
  c->add_option("--keep", o->keep, "leave the ELF that ran in this folder");
  c->add_flag("--json", o->json, "print JSON");
  c->footer("Example:\n  corten bench build/kws/model.corten --on qemu");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
