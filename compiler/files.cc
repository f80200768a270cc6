#include "compiler/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>

#include "compiler/interrupt.h"
#include "ir/diag.h"

namespace corten {

constexpr size_t kChunk = size_t{1} << 20;
constexpr size_t kMaxStream = size_t{1} << 30;  // bytes of a pipe or a device, which may have no end

std::vector<uint8_t> read_file(const std::string& path) {
  std::error_code e;
  if (std::filesystem::is_directory(path, e)) fail_file(path, Code::no_file, "is a folder, not a file");
  std::ifstream f(path, std::ios::binary);
  if (!f) fail_file(path, Code::no_file, std::string("cannot be read: ") + std::strerror(errno), "check the path");
  const bool stream = !std::filesystem::is_regular_file(path, e);
  std::vector<uint8_t> bytes;
  while (f) {
    const size_t at = bytes.size();
    bytes.resize(at + kChunk);
    f.read(reinterpret_cast<char*>(bytes.data() + at), kChunk);
    bytes.resize(at + size_t(f.gcount()));
    if (stream && bytes.size() > kMaxStream) fail_file(path, Code::no_file, "is no file, and does not end within 1 GiB");
  }
  if (f.bad()) fail_file(path, Code::no_file, "cannot be read to its end");
  return bytes;
}

void check_replaceable(const std::string& path) {
  std::error_code e;
  const std::filesystem::file_status status = std::filesystem::status(path, e);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return;
  fail_file(path, Code::cannot_write, std::filesystem::is_directory(status) ? "is a folder" : "is a device or a pipe, not a file",
            "choose another name");
}

void write_files(const std::string& dir, const std::vector<std::pair<std::string, std::string>>& files) {
  namespace fs = std::filesystem;
  std::error_code e;
  fs::create_directories(dir, e);
  if (e) fail_file(dir, Code::cannot_write, "cannot make this folder: " + e.message(), "choose another folder");
  const std::string suffix = ".tmp" + std::to_string(getpid());
  const auto clean = [&] {
    std::error_code ignored;
    for (const auto& [name, bytes] : files) fs::remove(fs::path(dir) / (name + suffix), ignored);
  };
  for (const auto& [name, bytes] : files) check_replaceable((fs::path(dir) / name).string());
  std::list<Unfinished> unfinished;
  for (const auto& [name, bytes] : files) {
    unfinished.emplace_back(fs::path(dir) / (name + suffix));
    std::ofstream f(fs::path(dir) / (name + suffix), std::ios::binary);
    f.write(bytes.data(), std::streamsize(bytes.size()));
    f.close();
    if (!f) {
      clean();
      fail_file((fs::path(dir) / name).string(), Code::cannot_write, "cannot be written", "check the disk and the permissions");
    }
  }
  const auto hold = uninterrupted();  // all files or none
  for (const auto& [name, bytes] : files) {
    fs::rename(fs::path(dir) / (name + suffix), fs::path(dir) / name, e);
    if (e) {
      clean();
      fail_file((fs::path(dir) / name).string(), Code::cannot_write, "cannot be written: " + e.message());
    }
  }
}

}  // namespace corten
