// The parts of a .pt2 archive (torch.export.save): the program's JSON and the tensors beside it.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/json.h"
#include "compiler/zip.h"
#include "ir/graph.h"

namespace corten {

// The schema's ScalarType. Nothing for complex, float8 and the other types no tensor may have here; `name` says which.
std::optional<DType> dtype_of_scalar_type(int64_t scalar_type);
std::string name_of_scalar_type(int64_t scalar_type);

// What the schema calls TensorMeta.
struct TensorMeta {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;    // in elements
  std::string refused;   // the name of its type where no tensor may have that here; dtype means nothing then
  std::string symbolic;  // the expression of the first size that is not a number, "" if all are
  int symbolic_dim = -1;
};
// What one says of a tensor of such a type.
std::string refused_type(const std::string& name);
inline constexpr const char* kTypeHelp = "use float32 for values and int8, int32 or int64 for integers";
// Sizes, strides and their product are checked. Strides and offset are read only if `with_strides`.
TensorMeta read_tensor_meta(const Json&, bool with_strides);

class Archive {
 public:
  explicit Archive(const std::string& path);

  const std::string& path() const { return zip_.path(); }
  Json model() const { return model_->root(); }  // ExportedProgram; of a schema version that can be read

  // The tensor a parameter, buffer or constant holds: contiguous, floats of any width as f32. Shared where two are the same.
  // Refuses NaN and infinity. `constant`: look among the constants first (non-persistent buffers are there too).
  std::shared_ptr<const Tensor> tensor(const std::string& name, bool constant);

 private:
  struct Payload {
    std::string entry;  // in the archive
    bool pickled = false;
    std::optional<Json> meta;
  };
  void find_root();
  void check_versions();
  void read_config(const std::string& entry, const std::string& folder, std::map<std::string, Payload>& payloads);
  const std::vector<uint8_t>& storage(const std::string& name, const Payload&);
  std::vector<uint8_t> pickled_storage(const std::string& name, const std::string& entry);

  Zip zip_;
  std::string root_;        // "kws/"; "" where there is none
  std::string model_name_;  // "model"
  std::unique_ptr<JsonDocument> model_;
  std::vector<std::unique_ptr<JsonDocument>> configs_;
  std::map<std::string, Payload> weights_, constants_;
  std::map<std::string, std::vector<uint8_t>> storages_;
  std::map<std::string, std::shared_ptr<const Tensor>> tensors_;  // by storage, type, shape, strides, offset
};

// A strided view of raw bytes as a contiguous tensor, bounds checked; the Error calls it `name` of `subject`.
std::shared_ptr<Tensor> materialise(const std::vector<uint8_t>& storage, const TensorMeta&, const std::string& name,
                                    const std::string& subject);

}  // namespace corten
