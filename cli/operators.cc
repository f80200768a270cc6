#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "compiler/json.h"
#include "compiler/pipeline.h"

namespace corten::cli {

void add_operators(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("operators", "the ATen operators that a program may use");
  c->add_flag("--json", *json, "print JSON");
  c->footer("Example:\n  corten operators");
  c->callback([json] {
    nlohmann::ordered_json j;
    for (const auto& [op, claims] : supported_operators()) {
      j[op] = claims;
      if (!*json) fmt::print("{}\n", op);
      for (const std::string& aten : claims)
        if (!*json) fmt::print("  {}\n", aten);
    }
    if (*json) fmt::print("{}", json_text(j));
  });
}

}  // namespace corten::cli
