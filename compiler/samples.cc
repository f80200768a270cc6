// Arrays as inputs of a program: names, shapes, counts, finite values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "compiler/npz.h"
#include "compiler/zip.h"
#include "ir/diag.h"

namespace corten {

namespace {

namespace fs = std::filesystem;

constexpr char kShapeHelp[] = "give samples along the first axis, in PyTorch's order of dimensions";

std::vector<NpArray> read_all(const std::string& path, size_t inputs) {
  std::vector<std::string> files;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (const auto& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".npy") files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    if (files.empty()) fail_file(path, Code::unreadable_data, "the folder holds no .npy files");
  } else if (path.find(',') != std::string::npos && !fs::exists(path, error)) {
    for (size_t at = 0; at <= path.size();) {
      const size_t comma = std::min(path.find(',', at), path.size());
      files.push_back(path.substr(at, comma - at));
      at = comma + 1;
    }
    if (files.size() > inputs + 1)
      fail_file(path, Code::wrong_inputs, fmt::format("{} files for a program of {} inputs", files.size(), inputs));
  } else {
    auto arrays = read_arrays(path);
    if (arrays.size() == 1 && arrays[0].name.empty()) {
      if (inputs != 1) {
        fail_file(path, Code::wrong_inputs, fmt::format("one array, but the program has {} inputs", inputs),
                  "give a .npz, or one .npy for each input with commas");
      }
      arrays[0].name = "in0";
    }
    return arrays;
  }
  std::vector<NpArray> arrays;
  for (const std::string& file : files) {
    for (NpArray& a : read_arrays(file)) {
      if (a.name.empty()) a.name = fs::path(file).stem().string();
      arrays.push_back(std::move(a));
    }
  }
  return arrays;
}

bool is_input_name(const std::string& name) { return name != "labels" && !name.starts_with("out"); }

class Loader {
 public:
  Loader(const std::string& path, const std::vector<InputSpec>& inputs)
      : path_(path), inputs_(inputs), arrays_(read_all(path, inputs.size())), by_position_(path.find(',') != std::string::npos) {}

  Samples run() {
    Samples s;
    for (size_t i = 0; i < inputs_.size(); i++) s.inputs.push_back(input(i, s.count));
    for (const NpArray& a : arrays_)
      if (a.name == "labels") labels(a, s);
    return s;
  }

 private:
  [[noreturn]] void fail(Code code, std::string message, std::string help = {}) const {
    fail_file(path_, code, std::move(message), std::move(help));
  }

  const NpArray& array_of(size_t i) const {
    for (const std::string& name : {inputs_[i].name, fmt::format("in{}", i)}) {
      for (const NpArray& a : arrays_)
        if (a.name == name && is_input_name(name)) return a;
    }
    if (by_position_ && i < arrays_.size() && is_input_name(arrays_[i].name)) return arrays_[i];
    std::string names;
    for (const NpArray& a : arrays_) names += (names.empty() ? "" : ", ") + a.name;
    fail(Code::wrong_inputs, fmt::format("no array for input '{}': the file holds {}", inputs_[i].name, names),
         fmt::format("name it '{}' or 'in{}'", inputs_[i].name, i));
  }

  std::vector<float> input(size_t i, int64_t& count) const {
    const InputSpec& spec = inputs_[i];
    const NpArray& a = array_of(i);
    const Shape& is = a.shape;
    const Shape& want = spec.shape;
    const bool whole = is.size() == want.size() + 1 && std::equal(want.begin(), want.end(), is.begin() + 1);
    const bool batched =
        !want.empty() && want[0] == 1 && is.size() == want.size() && std::equal(want.begin() + 1, want.end(), is.begin() + 1);
    if (!whole && !batched) {
      fail(Code::wrong_shape,
           fmt::format("array '{}' is {}, but input '{}' takes {}{}", a.name, to_text(is), spec.name, with_samples(want, false),
                       !want.empty() && want[0] == 1 ? " or " + with_samples(want, true) : ""),
           kShapeHelp);
    }
    if (is[0] == 0) fail(Code::sample_count, fmt::format("array '{}' holds no samples", a.name), "give at least one");
    if (i > 0 && is[0] != count) {
      fail(Code::sample_count, fmt::format("'{}' holds {} samples, but the inputs before it {}", a.name, is[0], count),
           "give as many of each input");
    }
    count = is[0];
    std::vector<float> values = a.floats();
    const size_t each = values.size() / size_t(count);
    for (size_t k = 0; k < values.size(); k++) {
      if (!std::isfinite(values[k])) {
        fail(Code::nonfinite_data,
             fmt::format("input '{}' holds {} in sample {}", spec.name, std::isnan(values[k]) ? "NaN" : "infinity", k / each),
             "leave such samples out");
      }
    }
    return values;
  }

  // "[N, 3, 32, 32]"
  static std::string with_samples(const Shape& shape, bool batched) {
    std::string s = "[N";
    for (size_t d = batched ? 1 : 0; d < shape.size(); d++) s += fmt::format(", {}", shape[d]);
    return s + "]";
  }

  void labels(const NpArray& a, Samples& s) const {
    if (elements(a.shape) != s.count || a.shape.empty() || a.shape[0] != s.count) {
      fail(Code::sample_count, fmt::format("labels are {}, but there are {} samples", to_text(a.shape), s.count),
           "give one label for each sample");
    }
    for (double v : a.floats())
      if (!(std::abs(v) < 1e15)) fail(Code::nonfinite_data, "labels hold a value that is no class number");
    s.labels = a.integers();
  }

  std::string path_;
  const std::vector<InputSpec>& inputs_;
  std::vector<NpArray> arrays_;
  bool by_position_;
};

}  // namespace

Samples load_samples(const std::string& path, const std::vector<InputSpec>& inputs) { return Loader(path, inputs).run(); }

Samples load_samples(const std::string& path, const Graph& g) {
  std::vector<InputSpec> inputs;
  for (ValueId v : g.inputs) inputs.push_back({g[v].name, g[v].shape});
  return load_samples(path, inputs);
}

}  // namespace corten
