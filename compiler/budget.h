// Limits on what a program may take on the device.
#pragma once
#include <stdint.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "ir/diag.h"

namespace corten {

struct Budget {
  std::optional<uint64_t> flash, ram;  // bytes
};

// The runtime's state of one program on a 32-bit core (runtime/run.cc asserts it).
constexpr uint32_t kStateBytes = 60;

// "65536", "64K", "64KiB", "1.5M"; nothing where it is no size.
std::optional<uint64_t> parse_bytes(std::string_view);
std::string grouped_digits(uint64_t);  // "65,536"

// Throws Errors where the program of this report takes more: RAM is arena and state, without stack; flash is image and code. For
// the code, firmware is linked, which takes the toolchain.
void check_budget(const nlohmann::ordered_json& report, std::span<const uint8_t> image, const Budget&);

}  // namespace corten
