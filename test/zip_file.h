// Writes small zip archives for tests: made in memory, since libzip syncs the disk for every file it writes.
#pragma once
#include <doctest/doctest.h>
#include <zip.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace corten {

inline std::string zip_bytes(const std::vector<std::pair<std::string, std::string>>& entries, bool deflate) {
  zip_source_t* memory = zip_source_buffer_create(nullptr, 0, 0, nullptr);
  zip_t* z = zip_open_from_source(memory, ZIP_TRUNCATE, nullptr);
  REQUIRE(z);
  zip_source_keep(memory);
  for (const auto& [name, data] : entries) {
    const zip_int64_t i = zip_file_add(z, name.c_str(), zip_source_buffer(z, data.data(), data.size(), 0), 0);
    zip_set_file_compression(z, zip_uint64_t(i), deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  REQUIRE(zip_close(z) == 0);
  zip_stat_t stat;
  REQUIRE(zip_source_stat(memory, &stat) == 0);
  std::string bytes(stat.size, '\0');
  REQUIRE(zip_source_open(memory) == 0);
  REQUIRE(zip_source_read(memory, bytes.data(), bytes.size()) == zip_int64_t(bytes.size()));
  zip_source_close(memory);
  zip_source_free(memory);
  return bytes;
}

// Anew: some file systems flush to the disk where a file is cut short and written again.
inline void write_new(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

inline void write_zip(const std::string& path, const std::vector<std::pair<std::string, std::string>>& entries, bool deflate) {
  write_new(path, zip_bytes(entries, deflate));
}

}  // namespace corten
