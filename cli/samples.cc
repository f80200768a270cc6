#include "cli/samples.h"

#include <cstring>

namespace corten::cli {

Samples read_samples(const std::string& path, const Program& program) {
  std::vector<InputSpec> specs;
  for (const IoInfo& in : program.inputs()) specs.push_back({in.name, in.shape});
  return load_samples(path, specs);
}

NpArray output_array(const Program& program, size_t index, const std::vector<Sample>& outputs, bool as_float) {
  const IoInfo& io = program.outputs()[index];
  NpArray a;
  a.name = "out" + std::to_string(index);
  a.shape = io.shape;
  if (!a.shape.empty() && a.shape[0] == 1)
    a.shape[0] = int64_t(outputs.size());
  else
    a.shape.insert(a.shape.begin(), int64_t(outputs.size()));
  a.dtype = as_float ? DType::f32 : io.dtype;
  for (const Sample& s : outputs) {
    if (as_float) {
      const std::vector<float> real = dequantised(io, s[index]);
      const size_t at = a.bytes.size();
      a.bytes.resize(at + real.size() * sizeof(float));
      memcpy(a.bytes.data() + at, real.data(), real.size() * sizeof(float));
    } else {
      const std::vector<uint8_t> raw = to_torch_order(io, s[index]);
      a.bytes.insert(a.bytes.end(), raw.begin(), raw.end());
    }
  }
  return a;
}

}  // namespace corten::cli
