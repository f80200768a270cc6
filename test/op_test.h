// One kernel row on one case: its check, its bounds, its bytes. For operators whose constants need no packing of their own.
#pragma once
#include "test/kernel_test.h"

namespace corten::test {

inline constexpr int32_t kOperandBytes = 16384, kImageBytes = 20480, kInputs = 4;

// Inputs end where their buffer ends, so that a sanitizer sees the first byte read too far.
struct Inputs {
  alignas(16) uint8_t bytes[kInputs][kOperandBytes];
  uint32_t size[kInputs];
  void* at(int32_t k) { return bytes[k] + kOperandBytes - size[k]; }
  int8_t* s8(int32_t k) { return static_cast<int8_t*>(at(k)); }
};
inline Inputs g_in;
inline Buffer<kOperandBytes> g_out, g_scratch;
alignas(16) inline uint8_t g_want[kOperandBytes], g_image[kImageBytes];

struct Row {
  const char* name;
  KernelFn run;
  CheckFn check;
  uint32_t scratch;
  long number;  // of the case
};

// What the case is about: params, the inputs in g_in, the image in g_image, the expected bytes in g_want.
struct Case {
  const void* params;
  uint32_t params_bytes, inputs, out_bytes, image_bytes;
};

inline bool accepts(const Row& r, const Case& c, const void* params, const uint32_t* sizes, uint32_t image_bytes) {
  const CheckArgs a = {params, c.params_bytes, image_bytes, sizes, c.inputs + 1, r.scratch};
  return r.check(&a);
}

using Caller = void (*)(const char* name, long number, KernelFn, const KernelArgs*);
inline void call_uncounted(const char*, long, KernelFn run, const KernelArgs* args) { run(args); }

inline void run_once(const Row& r, const Case& c, const void* params, Caller caller) {
  g_out.arm(int32_t(c.out_bytes)), g_scratch.arm(int32_t(r.scratch));
  void* operands[kInputs + 1];
  for (uint32_t k = 0; k < c.inputs; k++) operands[k] = g_in.at(int32_t(k));
  operands[c.inputs] = g_out.data();
  const KernelArgs a = {params, g_image, operands, g_scratch.data()};
  caller(r.name, r.number, r.run, &a);
  expect(g_out.intact(), r.name, r.number, "wrote outside its output");
  expect(g_scratch.intact(), r.name, r.number, "wrote outside its scratch");
}

// Damaged params: what the check still accepts must still run within bounds.
inline void run_damaged(const Row& r, const Case& c, const uint32_t* sizes) {
  alignas(8) static uint8_t damaged[256];
  if (!expect(c.params_bytes <= sizeof damaged, r.name, r.number, "params too large for the test")) return;
  for (int32_t round = 0; round < 60; round++) {
    memcpy(damaged, c.params, c.params_bytes);
    for (int32_t k = random_in(1, 3); k > 0; k--) {
      const int32_t at = random_in(0, int32_t(c.params_bytes) - 1);
      damaged[at] = uint8_t(random_in(0, 2) ? damaged[at] + random_in(-3, 3) : random_in(0, 255));
    }
    if (accepts(r, c, damaged, sizes, c.image_bytes)) run_once(r, c, damaged, call_uncounted);
  }
}

inline void test_row(const Row& r, const Case& c) {
  uint32_t sizes[kInputs + 1];
  for (uint32_t k = 0; k < c.inputs; k++) sizes[k] = g_in.size[k];
  sizes[c.inputs] = c.out_bytes;
  const bool fits = c.out_bytes <= kOperandBytes && r.scratch <= kOperandBytes && c.image_bytes <= kImageBytes;
  if (!expect(fits, r.name, r.number, "case too large")) return;
  if (!expect(accepts(r, c, c.params, sizes, c.image_bytes), r.name, r.number, "its check refuses it")) return;
  if (c.image_bytes)
    expect(!accepts(r, c, c.params, sizes, c.image_bytes - 1), r.name, r.number, "its check accepts a short image");
  sizes[c.inputs]--;
  expect(!accepts(r, c, c.params, sizes, c.image_bytes), r.name, r.number, "its check accepts a short output");
  sizes[c.inputs]++;
  for (uint32_t k = 0; k < c.inputs; k++) {
    const uint32_t whole = sizes[k];
    sizes[k] = 0;
    expect(!accepts(r, c, c.params, sizes, c.image_bytes), r.name, r.number, "its check accepts an empty input");
    sizes[k] = whole;
  }
  run_once(r, c, c.params, call);
  expect_equal(r.name, r.number, reinterpret_cast<const int8_t*>(g_want), g_out.s8(), int32_t(c.out_bytes));
  if (!kBench) run_damaged(r, c, sizes);
}

// Input `k` starts `distance` bytes after the output (rounded up to the planner's 16 unless it is 0), both in one buffer.
inline void test_over(const Row& r, const Case& c, uint32_t k, int32_t distance) {
  const int32_t apart = (distance + 15) & ~15, in = int32_t(g_in.size[k]), out = int32_t(c.out_bytes);
  const int32_t out_at = apart < 0 ? (-apart < in ? -apart : (in + 15) & ~15) : 0, in_at = out_at + apart;
  const int32_t end = in_at + in > out_at + out ? in_at + in : out_at + out;
  if (end > kOperandBytes) return;
  g_out.arm(end), g_scratch.arm(int32_t(r.scratch));
  memcpy(g_out.s8() + in_at, g_in.at(int32_t(k)), size_t(in));
  void* operands[kInputs + 1];
  for (uint32_t i = 0; i < c.inputs; i++) operands[i] = g_in.at(int32_t(i));
  operands[k] = g_out.s8() + in_at, operands[c.inputs] = g_out.s8() + out_at;
  const KernelArgs a = {c.params, g_image, operands, g_scratch.data()};
  r.run(&a);
  expect(g_out.intact(), r.name, r.number, "wrote outside while over its input");
  expect_equal(r.name, r.number + 1000, reinterpret_cast<const int8_t*>(g_want), g_out.s8() + out_at, out);
}

// An operator that may write its output over any operand of the same size.
inline void test_row_in_place(const Row& r, const Case& c) {
  test_row(r, c);
  for (uint32_t k = 0; k < c.inputs; k++)
    if (g_in.size[k] == c.out_bytes) test_over(r, c, k, 0);
}

}  // namespace corten::test

// A test includes its kernels.def first as declarations, which this is for; then once more to run the rows.
#define KERNEL(tier, fn, usable, scratch, packing) \
  extern "C" void fn(const corten::KernelArgs*);   \
  extern "C" bool fn##_check(const corten::CheckArgs*);
