// A view of a parsed JSON document whose every access is checked: an Error says where in which document something is missing or
// wrong.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/diag.h"

namespace corten {

// Discarded where the bytes are no JSON, or nested deeper than a stack bears.
nlohmann::ordered_json parsed_json(const std::vector<uint8_t>&);
// Indented, with a line end; bytes that are not UTF-8, as in names of files, are replaced.
std::string json_text(const nlohmann::ordered_json&);

class JsonDocument;

class Json {
 public:
  Json(const JsonDocument& document, const nlohmann::json& j) : document_(&document), j_(&j) {}

  Json at(std::string_view key) const;                   // of an object; must be there
  std::optional<Json> find(std::string_view key) const;  // absent or null: nothing
  std::vector<Json> items() const;                       // of an array
  std::vector<std::pair<std::string, Json>> members() const;
  // A union of the export schema: an object with one member.
  std::pair<std::string, Json> tagged() const;

  int64_t integer() const;
  double real() const;  // also "Infinity", "-Infinity" and "NaN", as torch.export writes them
  bool flag() const;
  const std::string& text() const;
  bool is_object() const { return j_->is_object(); }

  std::string path() const;
  [[noreturn]] void fail(Code, std::string message, std::string help = {}) const;

 private:
  const JsonDocument* document_;
  const nlohmann::json* j_;
};

class JsonDocument {
 public:
  // `name` is the document's within the file `subject`.
  JsonDocument(const std::vector<uint8_t>& text, std::string subject, std::string name);
  Json root() const { return Json(*this, j_); }

 private:
  friend class Json;
  std::string subject_, name_;
  nlohmann::json j_;
};

}  // namespace corten
