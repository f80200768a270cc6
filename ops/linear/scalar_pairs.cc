// linear, cores without DSP, for speed: weights of two outputs in one word, twice the flash. A row's inputs are widened to words in
// scratch once; then four outputs at a time.
//
// Two inputs' products w0 * x + w1 * x * 2^16 fit in the halves (2 * 127 * 128 < 2^15): with 2^15 added, the sum's upper half is
// exactly w1's part, and the sum of the whole words less 2^16 times the sum of the upper halves is w0's part, modulo 2^32.
#include "ops/linear/pack_scalar.h"
#include "runtime/kernel.h"
#include "runtime/scalar_scale.h"

namespace corten {
namespace {

struct FourSums {
  int32_t sum[4];
};

// Weights w[2 * in], inputs x[in]; 4 | in.
#if defined(CORTEN_THUMB1)
// In assembly because the compiler does not use r8-r12 as accumulators, and spills instead.
#define CORTEN_TWO_INPUTS                                                         \
  "ldmia r1!, {r4, r7}\n ldmia r0!, {r2, r3}\n muls r2, r4\n muls r3, r4\n"       \
  "ldmia r0!, {r5, r6}\n muls r5, r7\n muls r6, r7\n add r2, r12\n add r3, r12\n" \
  "adds r2, r2, r5\n adds r3, r3, r6\n"                                           \
  "add r8, r2\n asrs r2, r2, #16\n add r9, r2\n add r10, r3\n asrs r3, r3, #16\n add r11, r3\n"
#define CORTEN_CLOBBERS "r3", "r4", "r5", "r6", "r7", "cc", "memory"
#elif defined(CORTEN_THUMB2)
// In assembly because the compiler scatters the loads, which take one cycle each where they stand together.
#define CORTEN_TWO_INPUTS                                                                 \
  "ldr r4, [r1], #8\n ldr r7, [r1, #-4]\n ldr r2, [r0], #16\n ldr r3, [r0, #-12]\n"       \
  "ldr r5, [r0, #-8]\n ldr r6, [r0, #-4]\n"                                               \
  "mla r2, r2, r4, r12\n mla r3, r3, r4, r12\n mla r2, r5, r7, r2\n mla r3, r6, r7, r3\n" \
  "add r8, r8, r2\n add r9, r9, r2, asr #16\n add r10, r10, r3\n add r11, r11, r3, asr #16\n"
#define CORTEN_CLOBBERS "r3", "r4", "r5", "r6", "r7", "cc", "memory"
#endif

FourSums four_sums(uint32_t words0, uint32_t uppers0, uint32_t words1, uint32_t uppers1, uint32_t in) {
  const uint32_t added = in << 14;  // 2^15 for every two inputs
  const uint32_t lower0 = words0 - (uppers0 << 16) - added, lower1 = words1 - (uppers1 << 16) - added;
  return {{int32_t(lower0), int32_t(uppers0), int32_t(lower1), int32_t(uppers1)}};
}

#if defined(CORTEN_TWO_INPUTS)
[[gnu::always_inline]] inline FourSums dot_four(const int32_t* w, const int32_t* x, uint32_t in) {
  register const int32_t* weights asm("r0") = w;
  register const int32_t* inputs asm("r1") = x;
  register uint32_t words0 asm("r8") = 0;
  register uint32_t uppers0 asm("r9") = 0;
  register uint32_t words1 asm("r10") = 0;
  register uint32_t uppers1 asm("r11") = 0;
  register uint32_t odd asm("r2") = in & 4;
  register int32_t upper_half asm("r12") = 1 << 15;
  register const int32_t* end asm("lr") = x + in;
  asm volatile(
      ".syntax unified\n"
      "cmp r2, #0\n bne 2f\n"  // twice four inputs; an odd number of fours begins in the middle
      "1:\n" CORTEN_TWO_INPUTS CORTEN_TWO_INPUTS "2:\n" CORTEN_TWO_INPUTS CORTEN_TWO_INPUTS "cmp r1, lr\n bne 1b\n"
      : "+r"(weights), "+r"(inputs), "+r"(odd), "+r"(words0), "+r"(uppers0), "+r"(words1), "+r"(uppers1)
      : "r"(upper_half), "r"(end)
      : CORTEN_CLOBBERS);
  return four_sums(words0, uppers0, words1, uppers1, in);
}
#undef CORTEN_TWO_INPUTS
#undef CORTEN_CLOBBERS
#else
FourSums dot_four(const int32_t* w, const int32_t* x, uint32_t in) {
  uint32_t words0 = 0, uppers0 = 0, words1 = 0, uppers1 = 0;
  for (const int32_t* const end = x + in; x != end; x += 2, w += 4) {
    const uint32_t x0 = uint32_t(x[0]), x1 = uint32_t(x[1]);
    const uint32_t two0 = uint32_t(w[0]) * x0 + uint32_t(w[2]) * x1 + (1u << 15);
    const uint32_t two1 = uint32_t(w[1]) * x0 + uint32_t(w[3]) * x1 + (1u << 15);
    words0 += two0, uppers0 += uint32_t(int32_t(two0) >> 16);
    words1 += two1, uppers1 += uint32_t(int32_t(two1) >> 16);
  }
  return four_sums(words0, uppers0, words1, uppers1, in);
}
#endif

// One output, weights as they are.
int32_t dot_one(const int8_t* w, const int32_t* x, uint32_t in) {
  int32_t sum = 0;
  for (const int8_t* const end = w + in; w != end; w += 2, x += 2) sum += x[0] * w[0] + x[1] * w[1];
  return sum;
}

// Not inlined, and everything by value, for the sake of the registers.
[[gnu::noinline]] void outputs(const int8_t* w, const DspScale* table, const int32_t* x, uint32_t in, int8_t* y, uint32_t out,
                               ScalarRange range) {
  for (; out >= 4; out -= 4, w += 8 * in) {
    const FourSums four = dot_four(reinterpret_cast<const int32_t*>(w), x, in);
    for (int32_t i = 0; i < 4; i++) *y++ = scalar_output(four.sum[i], *table++, range);
  }
  for (; out > 0; out--, w += in) *y++ = scalar_output(dot_one(w, x, in), *table++, range);
}

}  // namespace

extern "C" void linear_s8_scalar_pairs(const KernelArgs* a) {
  const LinearParams& p = *static_cast<const LinearParams*>(a->params);
  const int8_t* x = static_cast<const int8_t*>(a->operand[0]);
  int8_t* y = static_cast<int8_t*>(a->operand[1]);
  int32_t* const inputs = static_cast<int32_t*>(a->scratch);
  const uint32_t in4 = linear_in4(p);
  const ScalarRange range = {2 * p.out_zero + 1, p.lo, p.hi};
  for (uint32_t row = 0; row < p.rows; row++, x += p.in, y += p.out) {
    for (uint32_t k = 0; k < in4; k++) inputs[k] = k < p.in ? x[k] : 0;
    outputs(at<int8_t>(a, p.weights), at<DspScale>(a, p.tables), inputs, in4, y, p.out, range);
    scalar_finish(y, p.out, range);
  }
}

extern "C" bool linear_s8_scalar_pairs_check(const CheckArgs* a) {
  return linear_check(a, linear_scalar_pairs_weights, linear_scalar_tables, 0) && linear_params(a).in <= kScalarInputs &&
         a->scratch_bytes / 4 >= linear_in4(linear_params(a));
}

}  // namespace corten
