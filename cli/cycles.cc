// For bench/run.py, not for people: estimated cycles of programs that tools/qemu_count.c counted.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "compiler/cycles.h"

namespace corten::cli {

namespace {

struct Options {
  std::string elf, counts, target;
};

// A list with an object for each block of the file.
void run(const Options& o) {
  const CycleModel model(o.elf, target_named(o.target).pipeline);
  nlohmann::json blocks = nlohmann::json::array();
  for (const Counts& block : read_counts(o.counts)) {
    uint64_t instructions = 0;
    for (const auto& [address, count] : block) instructions += count;
    blocks.push_back({{"instructions", instructions}, {"est_cycles", model.cycles(block)}});
  }
  fmt::print("{}\n", blocks.dump());
}

}  // namespace

void add_cycles(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("cycles", "instructions and cycles of each block of counts")->group("");
  c->add_option("elf", o->elf, "the program that ran")->type_name("FILE")->required();
  c->add_option("counts", o->counts, "what it executed")->type_name("FILE")->required();
  c->add_option("--target", o->target, "the core")->type_name("TARGET")->required();
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
