// The subcommands of `corten`. Each adds itself to the app and runs when it was chosen.
#pragma once
#include <CLI/CLI.hpp>

namespace corten::cli {

void add_compile(CLI::App&);
void add_run(CLI::App&);
void add_bench(CLI::App&);
void add_cycles(CLI::App&);
void add_compare(CLI::App&);
void add_decode(CLI::App&);
void add_report(CLI::App&);
void add_inspect(CLI::App&);
void add_targets(CLI::App&);
void add_operators(CLI::App&);
void add_view(CLI::App&);
void add_explain(CLI::App&);
void add_completions(CLI::App&);  // of all commands that were added before

}  // namespace corten::cli
