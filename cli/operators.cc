#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "ops/op.h"

namespace corten::cli {

void add_operators(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("operators", "the ATen operators that a program may use");
  c->add_flag("--json", *json, "print JSON");
  c->footer("Example:\n  corten operators");
  c->callback([json] {
    nlohmann::ordered_json j;
    for (const Op* op : all_ops()) {
      if (op->claims.empty()) continue;
      if (!*json) fmt::print("{}\n", op->name);
      for (const Claim& claim : op->claims) {
        j[std::string(op->name)].push_back(claim.aten);
        if (!*json) fmt::print("  {}\n", claim.aten);
      }
    }
    if (*json) fmt::print("{}\n", j.dump(1));
  });
}

}  // namespace corten::cli
