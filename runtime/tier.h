// The kernel tiers. A core runs its own tier and those below it.
#pragma once
#include <stdint.h>

namespace corten {

enum class Tier : uint8_t { scalar = 0, dsp = 1, mve = 2 };

// The tier this translation unit is compiled for. The host has every row: dsp through the emulation in simd.h, mve through
// portable twins (ops/*/mve_twin.cc) that read the same packed bytes.
#if defined(__ARM_FEATURE_MVE)
inline constexpr Tier kTier = Tier::mve;
#define CORTEN_MVE 1
#elif defined(__ARM_FEATURE_DSP)
inline constexpr Tier kTier = Tier::dsp;
#elif defined(__arm__)
inline constexpr Tier kTier = Tier::scalar;
#else
inline constexpr Tier kTier = Tier::mve;
#define CORTEN_HOST 1
#endif

// Is a 32 x 32 -> 64 bit multiply one instruction? Not on ARMv6-M and ARMv8-M baseline (M0, M0+, M23). Assembly may use only their
// instructions under CORTEN_THUMB1, those of ARMv7-M under CORTEN_THUMB2.
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
inline constexpr bool kLongMultiply = false;
#define CORTEN_THUMB1 1
#else
inline constexpr bool kLongMultiply = true;
#if defined(__arm__)
#define CORTEN_THUMB2 1
#endif
#endif

}  // namespace corten
