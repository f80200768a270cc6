#include "compiler/archive.h"

#include <fmt/format.h>

#include "ir/diag.h"

namespace corten {

namespace {

constexpr int kSchemaMajor = 8;
constexpr char kExportHelp[] = "write it with torch.export.save(torch.export.export(model.eval(), example_inputs), path)";

bool ends_with_entry(const std::string& name, const std::string& entry) { return name == entry || name.ends_with("/" + entry); }

std::string trimmed(const std::vector<uint8_t>& bytes) {
  std::string s(bytes.begin(), bytes.end());
  while (!s.empty() && isspace(static_cast<unsigned char>(s.back()))) s.pop_back();
  return s;
}

}  // namespace

Archive::Archive(const std::string& path) : zip_(path) {
  find_root();
  auto check_entry = [&](const std::string& name, const std::string& want, const std::string& help) {
    if (!zip_.has(root_ + name)) return;
    const std::string is = trimmed(zip_.read(root_ + name));
    if (is != want)
      fail_file(path, Code::not_an_export,
                fmt::format("the archive's '{}' is '{}'; only '{}' can be read", name, is.substr(0, 40), want), help);
  };
  check_entry("archive_format", "pt2", kExportHelp);
  check_entry("archive_version", "0", "export again with torch 2.13");
  check_entry("byteorder", "little", "export on a little-endian machine");
  const std::string entry = root_ + "models/" + model_name_ + ".json";
  model_ = std::make_unique<JsonDocument>(zip_.read(entry), path, entry);
  check_versions();
  read_config(root_ + "data/weights/" + model_name_ + "_weights_config.json", root_ + "data/weights/", weights_);
  read_config(root_ + "data/constants/" + model_name_ + "_constants_config.json", root_ + "data/constants/", constants_);
}

// The archive's one folder, and the program in it.
void Archive::find_root() {
  std::vector<std::string> models;
  for (const std::string& name : zip_.names()) {
    const size_t folder = name.rfind("models/");
    const bool whole = folder == 0 || (folder != std::string::npos && name[folder - 1] == '/');
    if (!whole || !name.ends_with(".json") || name.find('/', folder + 7) != std::string::npos) continue;
    root_ = name.substr(0, folder);
    model_name_ = name.substr(folder + 7, name.size() - folder - 12);
    models.push_back(name);
  }
  if (models.size() == 1) return;
  if (models.size() > 1) {
    fail_file(path(), Code::not_an_export,
              fmt::format("the archive holds {} programs, '{}' and '{}' among them", models.size(), models[0], models[1]),
              "save each program in a file of its own");
  }
  for (const std::string& name : zip_.names()) {
    if (name == "serialized_exported_program.json") {
      fail_file(path(), Code::not_an_export, "the archive is of the format before torch 2.8", "export again with torch 2.13");
    }
    if (ends_with_entry(name, "data.pkl")) {
      fail_file(path(), Code::not_an_export, "this is a pickle of torch.save or torch.jit.save, not an exported program",
                kExportHelp);
    }
  }
  fail_file(path(), Code::not_an_export, "the zip archive holds no exported program (no models/model.json)", kExportHelp);
}

void Archive::check_versions() {
  const Json version = model().at("schema_version");
  const int64_t major = version.at("major").integer();
  if (major == kSchemaMajor) return;
  const auto torch = model().find("torch_version");
  fail_file(path(), Code::not_an_export,
            fmt::format("export schema {}.{}{} is not supported; {}.x is", major, version.at("minor").integer(),
                        torch ? " (torch " + torch->text() + ")" : "", kSchemaMajor),
            "export again with torch 2.13");
}

void Archive::read_config(const std::string& entry, const std::string& folder, std::map<std::string, Payload>& payloads) {
  if (!zip_.has(entry)) return;
  configs_.push_back(std::make_unique<JsonDocument>(zip_.read(entry), path(), entry));
  for (const auto& [name, json] : configs_.back()->root().at("config").members()) {
    Payload p;
    p.entry = folder + json.at("path_name").text();
    p.pickled = json.at("use_pickle").flag();
    p.meta = json.find("tensor_meta");
    payloads.emplace(name, std::move(p));
  }
}

// torch.save writes a zip of its own: the storage lies in it as plain bytes, if there is but one.
std::vector<uint8_t> Archive::pickled_storage(const std::string& name, const std::string& entry) {
  constexpr char kHelp[] = "turn tensor subclasses into plain tensors before the export (torchao: quantise with the PT2E flow)";
  const Zip inner(zip_.read(entry), path() + ":" + entry);
  std::string found;
  for (const std::string& n : inner.names()) {
    if (ends_with_entry(n, "byteorder") && trimmed(inner.read(n)) != "little")
      fail_file(path(), Code::not_an_export, fmt::format("'{}' is not little-endian", name));
    const size_t folder = n.rfind("/data/");
    if (folder == std::string::npos || n.find('/', folder + 6) != std::string::npos) continue;
    if (!found.empty())
      fail_file(path(), Code::unsupported_dtype, fmt::format("'{}' is a pickled object made of several tensors", name), kHelp);
    found = n;
  }
  if (found.empty())
    fail_file(path(), Code::unsupported_dtype, fmt::format("'{}' is a pickled object without tensor data", name), kHelp);
  return inner.read(found);
}

const std::vector<uint8_t>& Archive::storage(const std::string& name, const Payload& p) {
  auto it = storages_.find(p.entry);
  if (it != storages_.end()) return it->second;
  if (!zip_.has(p.entry))
    fail_file(path(), Code::damaged_archive,
              fmt::format("the data of '{}' is missing: the archive has no entry '{}'", name, p.entry));
  return storages_.emplace(p.entry, p.pickled ? pickled_storage(name, p.entry) : zip_.read(p.entry)).first->second;
}

std::shared_ptr<const Tensor> Archive::tensor(const std::string& name, bool constant) {
  const Payload* payload = nullptr;
  for (const auto* payloads : {constant ? &constants_ : &weights_, constant ? &weights_ : &constants_}) {
    auto it = payloads->find(name);
    if (!payload && it != payloads->end()) payload = &it->second;
  }
  if (!payload) fail_file(path(), Code::damaged_archive, fmt::format("the archive holds no data for '{}'", name));
  const Payload& p = *payload;
  if (!p.meta)
    fail_file(path(), Code::not_an_export, fmt::format("'{}' is not a tensor", name), "remove custom objects from the model");
  const TensorMeta meta = read_tensor_meta(*p.meta, true);
  if (!meta.refused.empty()) p.meta->fail(Code::unsupported_dtype, refused_type(meta.refused), kTypeHelp);
  if (meta.symbolic_dim >= 0) p.meta->fail(Code::dynamic_shape, "a size of '" + name + "' is symbolic");
  std::string key = fmt::format("{} {} {} {}", p.entry, to_text(meta.dtype), to_text(meta.shape), meta.offset);
  key += to_text(meta.strides);
  auto& cached = tensors_[key];
  if (!cached) cached = materialise(storage(name, p), meta, name, path());
  return cached;
}

}  // namespace corten
