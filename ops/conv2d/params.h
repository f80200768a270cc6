// What the compiler stores for one convolution, and what its kernels read.
#pragma once
#include <stdint.h>

namespace corten {

// Input  (n, in_h, in_w, in_c), output (n, out_h, out_w, out_c), both NHWC int8. A conv1d has in_h = out_h = k_h = 1.
// Output channel o belongs to group o / (out_c / groups) and reads the in_c / groups channels of that group.
// Depthwise: groups == in_c; multiplier out_c / in_c.
struct ConvParams {
  uint16_t n, in_h, in_w, in_c;
  uint16_t out_h, out_w, out_c, groups;
  uint16_t k_h, k_w, stride_h, stride_w;
  uint16_t pad_t, pad_l, dil_h, dil_w;  // rows above, columns left; below and right follow from the output shape
  int8_t in_zero, out_zero, lo, hi;     // padding reads as in_zero; lo..hi is the fused clamp
  uint32_t flags;                       // facts below
  uint32_t weights, weights_bytes;      // image offset, 16-aligned; layout as the kernel row packs it
  uint32_t tables, tables_bytes;        // image offset, 16-aligned; bias and scales as the kernel row packs them
};
static_assert(sizeof(ConvParams) == 56, "part of the image format");

// Facts about the weights and scales that a row may ask for.
inline constexpr uint32_t kConvShiftsPositive = 1;  // every channel's shift is >= 1
inline constexpr uint32_t kConvAcc30 = 2;           // |accumulator| < 2^30 for every possible input, so acc << 1 fits
inline constexpr uint32_t kConvTap127 = 4;          // every |weight| <= 127
inline constexpr uint32_t kConvOutZeroIsLo = 8;     // out_zero == lo (a fused ReLU)
inline constexpr uint32_t kConvDspExact = 16;       // no weight is -128, and runtime/dsp_scale.h holds every channel exactly
inline constexpr uint32_t kConvShortExact = 32;     // no weight is -128, and runtime/short_scale.h holds every channel exactly
inline constexpr uint32_t kConvOneMin = 64;         // at most one weight of each output channel is -128
// What the user would rather have: at most one of these.
inline constexpr uint32_t kConvForSpeed = 1u << 16;
inline constexpr uint32_t kConvForRam = 1u << 17;
inline constexpr uint32_t kConvForSize = 1u << 18;

constexpr int32_t conv_group_in(const ConvParams& p) { return p.in_c / p.groups; }
constexpr int32_t conv_group_out(const ConvParams& p) { return p.out_c / p.groups; }
constexpr int32_t conv_taps(const ConvParams& p) { return p.k_h * p.k_w * conv_group_in(p); }  // K of one output
constexpr bool conv_is_depthwise(const ConvParams& p) { return p.groups == p.in_c && p.groups > 1; }
constexpr bool conv_is_pointwise(const ConvParams& p) {
  return p.k_h == 1 && p.k_w == 1 && p.stride_h == 1 && p.stride_w == 1 && p.pad_t == 0 && p.pad_l == 0 && p.groups == 1 &&
         p.out_h == p.in_h && p.out_w == p.in_w;
}

// The unpacked form every packing starts from.
struct ConvSource {
  const int8_t* weights;  // (out_c, k_h, k_w, in_c / groups)
  const int32_t* bias;    // [out_c], already holds -in_zero * sum of the channel's weights
  const int32_t* mult;    // [out_c], see fixed.h
  const int32_t* shift;   // [out_c]
};

// kConvTap127 and kConvOneMin, where they hold.
inline uint32_t conv_tap_facts(const ConvParams& p, const int8_t* weights) {
  int32_t most = 0;
  for (int32_t o = 0; o < p.out_c; o++) {
    int32_t count = 0;
    for (int32_t k = conv_taps(p); k > 0; k--) count += *weights++ == -128;
    most = count > most ? count : most;
  }
  return most == 0 ? kConvTap127 | kConvOneMin : most == 1 ? kConvOneMin : 0;
}

}  // namespace corten
