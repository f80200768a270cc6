// NumPy's files: .npy (one array) and .npz (a zip of them, stored or deflated).
#pragma once
#include <stdint.h>

#include <string>
#include <vector>

#include "ir/graph.h"

namespace corten {

// Row-major, native byte order. float16 is read as f32, uint16 as i32, uint32 and uint64 as i64.
struct NpArray {
  std::string name;  // "" for that of a .npy file
  Shape shape;
  DType dtype = DType::f32;
  std::vector<uint8_t> bytes;

  std::vector<float> floats() const;
  std::vector<int64_t> integers() const;  // of floats: truncated
};
NpArray np_array(std::string name, Shape, const std::vector<float>&);
NpArray np_array(std::string name, Shape, const std::vector<int8_t>&);
NpArray np_array(std::string name, Shape, const std::vector<int32_t>&);

// The arrays of a .npz, or the one of a .npy. Any C or Fortran ordered array of real numbers, of header version 1 to 3.
std::vector<NpArray> read_arrays(const std::string& path);

// Writes a .npz (stored), or a .npy where `path` ends so and there is one array. All or nothing: a file of that name stays as it is
// if anything fails. No f16, bf16.
void write_arrays(const std::string& path, const std::vector<NpArray>&);
inline void write_npz(const std::string& path, const std::vector<NpArray>& arrays) { write_arrays(path, arrays); }

// ---- samples: arrays as inputs of a program ------------------------------------------------------------------------------

struct Samples {
  int64_t count = 0;
  std::vector<std::vector<float>> inputs;  // one per program input: count * elements
  std::vector<int64_t> labels;             // of array "labels", if there is one
};

struct InputSpec {
  std::string name;
  Shape shape;  // in PyTorch's order
};

// `path` is a .npz, a .npy (for a program of one input), several .npy with commas between them, or a folder of .npy. Arrays are
// named after the inputs or in0, in1, ... (several .npy: by position where no name fits), and hold (N, *shape), or (N, *shape[1:])
// where shape[0] is 1. Arrays of other names are left alone.
Samples load_samples(const std::string& path, const std::vector<InputSpec>& inputs);
Samples load_samples(const std::string& path, const Graph&);

}  // namespace corten
