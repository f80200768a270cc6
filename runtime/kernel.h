// The kernel ABI: what a kernel is called with, and what its check is given before anything runs.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace corten {

// Operands: the step's inputs in order, then its outputs. Constants are found through image-relative offsets in the params.
// A kernel reads and writes nothing outside the byte ranges that its check has accepted, not even for one lane.
struct KernelArgs {
  const void* params;    // the op's params struct, in the image, 4-aligned
  const uint8_t* image;  // start of the image, 16-aligned
  void* const* operand;  // int8 tensors unless the op says otherwise; row-major, channels last
  void* scratch;         // 16-aligned; bytes as the kernel row asked for (null if none)
};
using KernelFn = void (*)(const KernelArgs* args);

// Sizes as the image states them. All operands and the scratch are known to lie inside the arena (or, constants, the image).
struct CheckArgs {
  const void* params;
  uint32_t params_bytes;
  uint32_t image_bytes;
  const uint32_t* operand_bytes;
  uint32_t operands;
  uint32_t scratch_bytes;
};
// Each kernel `extern "C" void F(const KernelArgs*)` has its `extern "C" bool F_check(const CheckArgs*)` beside it.
// True if the kernel, run with these params on operands of these sizes, stays in bounds. Must not trust any field.
using CheckFn = bool (*)(const CheckArgs* args);

struct KernelEntry {
  uint32_t id;  // kernel_id(name)
  KernelFn run;
  CheckFn check;
};

// FNV-1a of the function's name: the image names kernels by this.
constexpr uint32_t kernel_id(const char* name) {
  uint32_t h = 2166136261u;
  while (*name) h = (h ^ uint8_t(*name++)) * 16777619u;
  return h;
}

// [offset, offset + count * size) lies inside the image and is aligned to `align` bytes.
constexpr bool in_image(const CheckArgs* a, uint32_t offset, uint64_t count, uint32_t size, uint32_t align) {
  return offset % align == 0 && count <= a->image_bytes && offset <= a->image_bytes && count * size <= a->image_bytes - offset;
}

template <class T>
const T* at(const KernelArgs* a, uint32_t offset) {
  return reinterpret_cast<const T*>(a->image + offset);
}

}  // namespace corten
