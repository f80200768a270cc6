#include "compiler/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/zip.h"
#include "ir/diag.h"

namespace corten {

namespace {

constexpr int kMaxDepth = 100;  // deeper than any program

// Where `wanted` lies below j, as "a.b[3]". Only called for messages.
bool find_path(const nlohmann::json& j, const nlohmann::json* wanted, std::string& path, int depth) {
  if (&j == wanted) return true;
  if (depth == kMaxDepth) return false;
  const size_t length = path.size();
  if (j.is_object()) {
    for (auto it = j.begin(); it != j.end(); ++it) {
      path += (length ? "." : "") + it.key();
      if (find_path(*it, wanted, path, depth + 1)) return true;
      path.resize(length);
    }
  } else if (j.is_array()) {
    for (size_t i = 0; i < j.size(); i++) {
      path += fmt::format("[{}]", i);
      if (find_path(j[i], wanted, path, depth + 1)) return true;
      path.resize(length);
    }
  }
  return false;
}

}  // namespace

nlohmann::ordered_json parsed_json(const std::vector<uint8_t>& text) {
  using J = nlohmann::ordered_json;
  bool shallow = true;
  const auto within = [&](int depth, J::parse_event_t, J&) { return depth < kMaxDepth || (shallow = false); };
  J j = J::parse(text.begin(), text.end(), within, false);
  return shallow ? j : J(J::value_t::discarded);
}

std::string json_text(const nlohmann::ordered_json& j) {
  return j.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

JsonDocument::JsonDocument(const std::vector<uint8_t>& text, std::string subject, std::string name)
    : subject_(std::move(subject)), name_(std::move(name)) {
  int depth = 0;
  auto shallow = [&](int d, nlohmann::json::parse_event_t, nlohmann::json&) {
    depth = std::max(depth, d);
    return d < kMaxDepth;
  };
  try {
    j_ = nlohmann::json::parse(text.begin(), text.end(), shallow);
  } catch (const nlohmann::json::parse_error& e) {
    fail_file(subject_, Code::not_an_export,
              fmt::format("'{}' is not valid JSON (at byte {} of {})", name_, std::min(e.byte, text.size()), text.size()));
  } catch (const nlohmann::json::exception& e) {
    fail_file(subject_, Code::not_an_export, fmt::format("'{}' is not valid JSON: {}", name_, e.what()));
  }
  if (depth >= kMaxDepth)
    fail_file(subject_, Code::not_an_export, fmt::format("'{}' is nested more than {} deep", name_, kMaxDepth));
}

std::string Json::path() const {
  std::string path;
  find_path(document_->j_, j_, path, 0);
  return path;
}

void Json::fail(Code code, std::string message, std::string help) const {
  const std::string where = path();
  fail_file(document_->subject_, code, fmt::format("'{}'{}{}: {}", document_->name_, where.empty() ? "" : " at ", where, message),
            std::move(help));
}

std::optional<Json> Json::find(std::string_view key) const {
  if (!j_->is_object()) fail(Code::not_an_export, "an object is expected");
  auto it = j_->find(std::string(key));
  if (it == j_->end() || it->is_null()) return std::nullopt;
  return Json(*document_, *it);
}

Json Json::at(std::string_view key) const {
  const auto found = find(key);
  if (!found) fail(Code::not_an_export, fmt::format("'{}' is missing", key));
  return *found;
}

std::vector<Json> Json::items() const {
  if (!j_->is_array()) fail(Code::not_an_export, "a list is expected");
  std::vector<Json> v;
  v.reserve(j_->size());
  for (const auto& item : *j_) v.emplace_back(*document_, item);
  return v;
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  if (!j_->is_object()) fail(Code::not_an_export, "an object is expected");
  std::vector<std::pair<std::string, Json>> v;
  for (auto it = j_->begin(); it != j_->end(); ++it) v.emplace_back(it.key(), Json(*document_, *it));
  return v;
}

std::pair<std::string, Json> Json::tagged() const {
  if (!j_->is_object() || j_->size() != 1) fail(Code::not_an_export, "an object with one member is expected");
  return {j_->begin().key(), Json(*document_, *j_->begin())};
}

int64_t Json::integer() const {
  const bool fits = !j_->is_number_unsigned() || j_->get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max());
  if (!j_->is_number_integer() || !fits) fail(Code::not_an_export, "an integer is expected");
  return j_->get<int64_t>();
}

double Json::real() const {
  if (j_->is_number()) return j_->get<double>();
  if (j_->is_string()) {
    const auto& s = j_->get_ref<const std::string&>();
    if (s == "Infinity") return std::numeric_limits<double>::infinity();
    if (s == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (s == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  fail(Code::not_an_export, "a number is expected");
}

bool Json::flag() const {
  if (!j_->is_boolean()) fail(Code::not_an_export, "true or false is expected");
  return j_->get<bool>();
}

const std::string& Json::text() const {
  if (!j_->is_string()) fail(Code::not_an_export, "a string is expected");
  return j_->get_ref<const std::string&>();
}

}  // namespace corten
