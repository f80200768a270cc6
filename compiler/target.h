// The table of targets: cores, how code is compiled for them, and the emulated board that stands for each.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tier.h"

namespace corten {

enum class Pipeline { m0, m4, m55 };  // that estimated cycles assume, see cycles.h

struct Target {
  std::string_view name;  // "cortex-m55"
  Tier tier;
  Pipeline pipeline;
  std::string_view flags;          // of arm-none-eabi-g++, separated by spaces
  std::string_view machine;        // of qemu-system-arm
  std::string_view linker_script;  // in test/board
  std::string_view meaning;        // one line, for people
};

std::span<const Target> all_targets();
const Target& target_named(std::string_view name);  // throws Error with the names that are close
std::string_view to_text(Tier);
std::vector<std::string> flags_of(const Target&);

}  // namespace corten
