#include "compiler/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "ir/diag.h"

namespace corten {

namespace {

[[noreturn]] void fail_file(const std::string& path, const std::string& message, const std::string& help = {}) {
  Diag d;
  d.subject = path, d.message = message, d.help = help;
  throw Error(d);
}

}  // namespace

std::vector<uint8_t> read_file(const std::string& path) {
  std::error_code e;
  if (std::filesystem::is_directory(path, e)) fail_file(path, "is a folder, not a file");
  std::ifstream f(path, std::ios::binary | std::ios::ate);
  if (!f) fail_file(path, std::string("cannot be read: ") + std::strerror(errno), "check the path");
  const std::streamoff size = f.tellg();
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  f.seekg(0);
  if (size && !f.read(reinterpret_cast<char*>(bytes.data()), size)) fail_file(path, "cannot be read to its end");
  return bytes;
}

void write_files(const std::string& dir, const std::vector<std::pair<std::string, std::string>>& files) {
  namespace fs = std::filesystem;
  std::error_code e;
  fs::create_directories(dir, e);
  if (e) fail_file(dir, "cannot make this folder: " + e.message(), "choose another folder");
  const std::string suffix = ".tmp" + std::to_string(getpid());
  const auto clean = [&] {
    for (const auto& [name, bytes] : files) fs::remove(fs::path(dir) / (name + suffix), e);
  };
  for (const auto& [name, bytes] : files) {
    std::ofstream f(fs::path(dir) / (name + suffix), std::ios::binary);
    f.write(bytes.data(), std::streamsize(bytes.size()));
    f.close();
    if (!f) {
      clean();
      fail_file((fs::path(dir) / name).string(), "cannot be written", "check the disk and the permissions");
    }
  }
  for (const auto& [name, bytes] : files) {
    fs::rename(fs::path(dir) / (name + suffix), fs::path(dir) / name, e);
    if (e) {
      clean();
      fail_file((fs::path(dir) / name).string(), "cannot be written: " + e.message());
    }
  }
}

}  // namespace corten
