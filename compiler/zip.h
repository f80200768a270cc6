// Reads zip archives (stored and deflated entries) that may be damaged or hostile. Every failure is an Error naming file and entry.
#pragma once
#include <stdint.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/diag.h"

namespace corten {

class Zip {
 public:
  explicit Zip(const std::string& path);
  // An archive within an archive; `path` is for messages.
  Zip(std::vector<uint8_t> bytes, std::string path);
  ~Zip();
  Zip(Zip&&) noexcept;
  Zip& operator=(Zip&&) noexcept;

  const std::string& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }
  bool has(std::string_view name) const { return index_.count(std::string(name)) != 0; }
  // The whole entry, its CRC and its size checked.
  std::vector<uint8_t> read(std::string_view name) const;

  // Whether the file begins as a zip does.
  static bool is_zip(const std::string& path);

 private:
  struct State;
  void list();
  [[noreturn]] void fail(Code, std::string message, std::string help = {}) const;
  std::string path_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint64_t> index_;
  std::unique_ptr<State> state_;
};

}  // namespace corten
