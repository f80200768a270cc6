// The runtime's C++ face. corten.h says what each call does.
#pragma once
#include "runtime/corten.h"
#include "runtime/kernel.h"

namespace corten {

using Status = corten_status;
using DeviceTensor = corten_tensor;

class Model {
 public:
  Status init(const void* image, size_t image_bytes, const KernelEntry* kernels, uint32_t kernel_count, void* arena,
              uint32_t arena_bytes) {
    const corten_memory memory = {arena, arena_bytes};
    return corten_init(&model_, image, image_bytes, kernels, kernel_count, &memory, 1);
  }
  uint32_t inputs() const { return corten_inputs(&model_); }
  uint32_t outputs() const { return corten_outputs(&model_); }
  // A tensor without data where there is no such input or output.
  DeviceTensor input(uint32_t index) const {
    DeviceTensor t = {};
    corten_input(&model_, index, &t);
    return t;
  }
  DeviceTensor output(uint32_t index) const {
    DeviceTensor t = {};
    corten_output(&model_, index, &t);
    return t;
  }
  Status run() { return corten_run(&model_); }
  Status reset_state() { return corten_reset_state(&model_); }
  uint32_t arena_needed() const { return model_.arena_needed; }
  uint32_t arena_given() const { return model_.arena_given; }
  corten_model& state() { return model_; }

 private:
  corten_model model_ = {};
};

}  // namespace corten
