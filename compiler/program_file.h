// A program image on the host: read, verified, described, run through the same runtime as on the core.
#pragma once
#include <stdint.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/model.h"
#include "runtime/tier.h"

namespace corten {

// A program input or output as the outside sees it.
struct IoInfo {
  std::string name;
  DType dtype = DType::i8;  // i8 or f32
  Shape shape;              // PyTorch's order
  std::vector<int> perm;    // device dim i is PyTorch dim perm[i]
  double scale = 1;
  int32_t zero = 0;
  uint32_t offset = 0, bytes = 0;  // in the arena
  int64_t elements() const { return corten::elements(shape); }
};

struct OperandInfo {
  bool in_arena = true;  // else in the image
  uint32_t offset = 0, bytes = 0;
};

struct StepInfo {
  std::string node, kernel;
  uint32_t scratch_bytes = 0;
  std::vector<OperandInfo> operands;  // inputs, then outputs
  int outputs = 0;
};

// Values of one sample in PyTorch's order <-> bytes in the device's order. to_device of floats rounds half to even, as PyTorch
// does.
std::vector<uint8_t> to_device(const IoInfo&, std::span<const float> values);
std::vector<float> dequantised(const IoInfo&, std::span<const uint8_t> device);       // PyTorch's order, real values
std::vector<uint8_t> to_torch_order(const IoInfo&, std::span<const uint8_t> device);  // PyTorch's order, still int8 or float32

// For each element in the device's order, its index in PyTorch's.
std::vector<uint32_t> torch_index(const IoInfo&);

using Sample = std::vector<std::vector<uint8_t>>;  // one device-order tensor per program input or output

struct Samples;  // npz.h
class Program;
// The first `most` samples as the program takes them; -1: all.
std::vector<Sample> device_samples(const Program&, const Samples&, int64_t most = -1);

// What one inference wrote.
struct Traced {
  std::vector<std::vector<uint8_t>> steps;  // of each step its last operand, in the device's order
  Sample outputs;
};

class Program {
 public:
  // Throw Error with the runtime's Status where the image is refused.
  static Program load(const std::string& path);
  static Program from_bytes(std::vector<uint8_t> image, std::string source = "<image>");

  const std::string& name() const { return name_; }
  const std::string& target() const { return target_; }
  Tier tier() const { return tier_; }
  const std::vector<IoInfo>& inputs() const { return inputs_; }
  const std::vector<IoInfo>& outputs() const { return outputs_; }
  const std::vector<StepInfo>& steps() const { return steps_; }
  std::span<const uint8_t> image() const { return {image_.get(), image_bytes_}; }
  uint32_t arena_bytes() const { return arena_bytes_; }

  // Runs on the host; deterministic, so any number of threads gives the same bytes.
  Sample run(const Sample& inputs) const;
  Traced trace(const Sample& inputs) const;
  std::vector<Sample> run_all(const std::vector<Sample>& samples, int threads = 0) const;  // 0: all cores

 private:
  class Runner;
  std::shared_ptr<uint8_t[]> image_;  // 16-aligned
  size_t image_bytes_ = 0;
  std::string name_, target_;
  Tier tier_ = Tier::scalar;
  uint32_t arena_bytes_ = 0;
  std::vector<IoInfo> inputs_, outputs_;
  std::vector<StepInfo> steps_;
};

// 16-aligned bytes, for images and arenas on the host. Exactly `bytes` long, so that sanitizers see every overrun.
std::shared_ptr<uint8_t[]> aligned_bytes(size_t bytes);

}  // namespace corten
