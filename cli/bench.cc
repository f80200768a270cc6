#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/samples.h"
#include "compiler/board.h"
#include "compiler/files.h"
#include "compiler/json.h"
#include "compiler/program_file.h"
#include "compiler/report_fields.h"

namespace corten::cli {

namespace {

struct Options {
  std::string image, input, on = "qemu", keep;
  int timeout = BoardOptions().timeout_seconds;
  bool json = false;
};

// Multiply-accumulates of each step by the report beside the image; empty where that is missing or of another image.
std::vector<double> reported_macs(const std::filesystem::path& image, const Bench& b) {
  const auto beside = image.parent_path() / "report.json";
  if (!std::filesystem::exists(beside)) return {};
  const nlohmann::ordered_json report = parsed_json(read_file(beside.string()));
  if (text_of(report, "target") != b.target) return {};
  std::vector<double> macs;
  for (const auto& step : list_of(report, "steps")) {
    const size_t i = macs.size();
    if (i >= b.steps.size() || text_of(step, "node") != b.steps[i].node || text_of(step, "kernel") != b.steps[i].kernel) return {};
    macs.push_back(number_of(step, "macs").value_or(0));
  }
  return macs.size() == b.steps.size() ? macs : std::vector<double>();
}

std::string per_mac(uint64_t cycles, double macs) { return macs > 0 ? fmt::format("{:.3f}", double(cycles) / macs) : ""; }

void table(const Bench& b, const std::vector<double>& macs) {
  fmt::print("{} on {} (emulated; instruction counts are exact, cycles estimates for zero-wait memory)\n\n", b.model, b.target);
  constexpr const char* kRow = "{:>4}  {:<32} {:<32} {:>12} {:>12} {:>6} {:>9}\n";
  fmt::print(fmt::runtime(kRow), "step", "node", "kernel", "instructions", "est. cycles", "%", macs.empty() ? "" : "cyc./MAC");
  double sum = 0;
  for (size_t i = 0; i < b.steps.size(); i++) {
    const BenchStep& s = b.steps[i];
    const double share = 100.0 * double(s.cycles) / double(std::max<uint64_t>(b.cycles, 1)), m = macs.empty() ? 0 : macs[i];
    fmt::print(fmt::runtime(kRow), i, s.node, s.kernel, s.instructions, s.cycles, fmt::format("{:.1f}", share),
               per_mac(s.cycles, m));
    sum += m;
  }
  fmt::print("\ninstructions  {:>10} per inference\n", b.instructions);
  fmt::print("est. cycles   {:>10}", b.cycles);
  if (sum > 0) fmt::print(", {} for each of {:.0f} multiply-accumulates", per_mac(b.cycles, sum), sum);
  fmt::print("\narena         {:>10} bytes, scratch included\nstate         {:>10} bytes\nstack         {:>10} bytes\n",
             b.arena_bytes, b.state_bytes, b.stack_bytes);
  fmt::print("image         {:>10} bytes\ncode          {:>10} bytes (runtime and kernels)\n", b.image_bytes, b.code_bytes);
  if (!b.elf.empty()) fmt::print("kept          {}\n              {}\n", b.elf, b.counts);
}

void run(const Options& o) {
  const Program program = Program::load(o.image);
  Sample input;
  if (!o.input.empty()) input = device_samples(program, read_samples(o.input, program)).at(0);
  BoardOptions options;
  options.keep = o.keep, options.timeout_seconds = o.timeout;
  const Bench b = bench_on_board(program, input, options);
  if (o.json)
    fmt::print("{}", json_text(to_json(b)));
  else
    table(b, reported_macs(o.image, b));
}

}  // namespace

void add_bench(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c =
      app.add_subcommand("bench", "instructions and cycles per step, stack, RAM and flash of one inference on an emulated board");
  c->add_option("image", o->image, "model.corten")->type_name("FILE")->required();
  c->add_option("--on", o->on, "qemu")->check(CLI::IsMember({"qemu"}))->capture_default_str();
  c->add_option("-i,--input", o->input, "the first sample of this file instead of made-up values")->type_name("FILE");
  c->add_option("--keep", o->keep, "leave the ELF that ran and the counts in this folder")->type_name("DIR");
  c->add_option("--timeout", o->timeout, "seconds that the board may take")
      ->check(CLI::Range(1, kLongestRun))
      ->capture_default_str();
  c->add_flag("--json", o->json, "print JSON");
  c->footer("Example:\n  corten bench build/kws/model.corten --on qemu");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
