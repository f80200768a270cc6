#include "compiler/target.h"

#include <algorithm>
#include <sstream>

#include "ir/close_names.h"
#include "ir/diag.h"

namespace corten {

// GCC 12 knows neither Cortex-M85 nor M52: they run the M55's code. The emulated M3 stands for the M0, M0+ and M23 (start-up makes
// it fault on unaligned access as they do); the M55's board for ARMv8-M mainline cores, whose instructions it has all.
static constexpr Target kTargets[] = {
    {"cortex-m0", Tier::scalar, Pipeline::m0, "-mcpu=cortex-m0 -mthumb", "mps2-an385", "mps2.ld",
     "ARMv6-M; smallest; no unaligned access, no divide"},
    {"cortex-m0plus", Tier::scalar, Pipeline::m0, "-mcpu=cortex-m0plus -mthumb", "mps2-an385", "mps2.ld",
     "ARMv6-M, two-stage pipeline; RP2040, STM32G0"},
    {"cortex-m3", Tier::scalar, Pipeline::m4, "-mcpu=cortex-m3 -mthumb", "mps2-an385", "mps2.ld",
     "ARMv7-M, 32-bit multiply and divide; STM32F1"},
    {"cortex-m23", Tier::scalar, Pipeline::m0, "-mcpu=cortex-m23 -mthumb", "mps2-an385", "mps2.ld",
     "ARMv8-M baseline: M0+ with divide and TrustZone"},
    {"cortex-m4", Tier::dsp, Pipeline::m4, "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", "mps2-an386", "mps2.ld",
     "ARMv7E-M with DSP extension; STM32F4, nRF52"},
    {"cortex-m7", Tier::dsp, Pipeline::m4, "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16", "mps3-an547", "mps3.ld",
     "ARMv7E-M, dual issue, caches; STM32F7/H7, i.MX RT"},
    {"cortex-m33", Tier::dsp, Pipeline::m4, "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16", "mps3-an547", "mps3.ld",
     "ARMv8-M mainline with DSP extension; STM32U5, nRF53, RP2350"},
    {"cortex-m35p", Tier::dsp, Pipeline::m4, "-mcpu=cortex-m35p -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16", "mps3-an547",
     "mps3.ld", "an M33 with physical security"},
    {"cortex-m52", Tier::mve, Pipeline::m55, "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", "mps3-an547", "mps3.ld",
     "ARMv8.1-M with MVE (Helium), one beat; compiled as M55"},
    {"cortex-m55", Tier::mve, Pipeline::m55, "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", "mps3-an547", "mps3.ld",
     "ARMv8.1-M with MVE (Helium), two beats; Alif Ensemble"},
    {"cortex-m85", Tier::mve, Pipeline::m55, "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", "mps3-an547", "mps3.ld",
     "ARMv8.1-M with MVE, dual issue; Renesas RA8; compiled as M55"},
};

std::span<const Target> all_targets() { return kTargets; }

const Target& target_named(std::string_view name) {
  std::string close, all;
  size_t least = 2;
  for (const Target& t : kTargets) {
    if (t.name == name) return t;
    const std::string_view core = t.name.substr(t.name.find('-') + 1);
    const size_t distance = std::min(edit_distance(name, t.name), edit_distance(name, core));
    if (distance < least) least = distance, close.clear();
    if (distance == least) close += (close.empty() ? "" : ", ") + std::string(t.name);
    all += (all.empty() ? "" : ", ") + std::string(t.name);
  }
  throw Error(Code::unknown_target, "no target named \"" + std::string(name) + "\"",
              close.empty() ? "one of " + all : "did you mean " + close + "?");
}

std::string_view to_text(Tier tier) { return tier == Tier::scalar ? "scalar" : tier == Tier::dsp ? "dsp" : "mve"; }

std::vector<std::string> flags_of(const Target& target) {
  std::istringstream words{std::string(target.flags)};
  std::vector<std::string> flags;
  for (std::string word; words >> word;) flags.push_back(word);
  return flags;
}

}  // namespace corten
