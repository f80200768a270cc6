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

std::vector<uint8_t> read_file(const std::string& path) {
  std::error_code e;
  if (std::filesystem::is_directory(path, e)) fail_file(path, Code::no_file, "is a folder, not a file");
  std::ifstream f(path, std::ios::binary | std::ios::ate);
  if (!f) fail_file(path, Code::no_file, std::string("cannot be read: ") + std::strerror(errno), "check the path");
  const std::streamoff size = f.tellg();
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  f.seekg(0);
  if (size && !f.read(reinterpret_cast<char*>(bytes.data()), size)) fail_file(path, Code::no_file, "cannot be read to its end");
  return bytes;
}

void write_files(const std::string& dir, const std::vector<std::pair<std::string, std::string>>& files) {
  namespace fs = std::filesystem;
  std::error_code e;
  fs::create_directories(dir, e);
  if (e) fail_file(dir, Code::cannot_write, "cannot make this folder: " + e.message(), "choose another folder");
  const std::string suffix = ".tmp" + std::to_string(getpid());
  const auto clean = [&] {
    for (const auto& [name, bytes] : files) fs::remove(fs::path(dir) / (name + suffix), e);
  };
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
