// The kernel tiers. A core runs its own tier and those below it.
#pragma once
#include <stdint.h>

namespace corten {

enum class Tier : uint8_t { scalar = 0, dsp = 1, mve = 2 };

// The tier this translation unit is compiled for. The host has every row: dsp through the emulation in simd.h, mve through
// portable twins (ops/*/mve_twin.cc) that read the same packed bytes.
#if defined(__ARM_FEATURE_MVE)
inline constexpr Tier kTier = Tier::mve;
#elif defined(__ARM_FEATURE_DSP)
inline constexpr Tier kTier = Tier::dsp;
#elif defined(__arm__)
inline constexpr Tier kTier = Tier::scalar;
#else
inline constexpr Tier kTier = Tier::mve;
#define CORTEN_HOST 1
#endif

}  // namespace corten
