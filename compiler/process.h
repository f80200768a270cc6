// Running other programs: no shell, captured output, a time limit.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compiler/interrupt.h"

namespace corten {

struct ProcessResult {
  int exit_code = -1;  // of the program; 127 if it could not be started
  int signal = 0;      // that ended it, 0 if none
  bool timed_out = false;
  std::string output;  // standard output and error, interleaved
  bool ok() const { return exit_code == 0 && !signal && !timed_out; }
};
ProcessResult run_process(const std::vector<std::string>& argv, const std::filesystem::path& directory, int timeout_seconds);

std::string find_program(const std::string& name);  // on PATH; "" if it is not there

// A fresh directory, removed with all in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<Unfinished> unfinished_;
};

// Whole files. write_text makes the content appear at once, so that concurrent readers see all of it or none.
std::string read_text(const std::filesystem::path&);  // throws Error
void write_text(const std::filesystem::path&, const std::string& content);

}  // namespace corten
