// What the compiler stores for one linear layer, and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

// y[r, o] = clamp(requantise(bias[o] + sum_i x[r, i] * w[o, i]) + out_zero); x (rows, in), y (rows, out), int8, row-major.
struct LinearParams {
  uint32_t rows, in, out;
  int8_t in_zero, out_zero, lo, hi;
  uint32_t flags;                   // facts below
  uint32_t weights, weights_bytes;  // image offset, 16-aligned; layout as the kernel row packs it
  uint32_t tables, tables_bytes;    // image offset, 16-aligned; bias and scales as the kernel row packs them
};
static_assert(sizeof(LinearParams) == 36, "part of the image format");

// Facts about the weights and scales that a row may ask for.
inline constexpr uint32_t kLinearShiftsPositive = 1;  // every channel's shift is >= 1
inline constexpr uint32_t kLinearAcc30 = 2;           // |accumulator| < 2^30 for every possible input, so acc << 1 fits
inline constexpr uint32_t kLinearPerTensor = 4;       // mult and shift are the same for all outputs
inline constexpr uint32_t kLinearDspExact = 8;        // no weight is -128, and runtime/dsp_scale.h holds every output exactly
// What the user would rather have: at most one of these.
inline constexpr uint32_t kLinearForSpeed = 1u << 16;
inline constexpr uint32_t kLinearForRam = 1u << 17;
inline constexpr uint32_t kLinearForSize = 1u << 18;

// The unpacked form every packing starts from.
struct LinearSource {
  const int8_t* weights;  // (out, in)
  const int32_t* bias;    // [out], already holds -in_zero * sum of the row's weights
  const int32_t* mult;    // [out], see fixed.h
  const int32_t* shift;   // [out]
};

}  // namespace corten
