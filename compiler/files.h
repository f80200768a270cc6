// Reading and writing files whole; nothing half-written is ever seen under its final name.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace corten {

std::vector<uint8_t> read_file(const std::string& path);  // pipes too; throws Error
// Throws Error where `path` is a folder, a device or a pipe: a file that is renamed to it would take its place.
void check_replaceable(const std::string& path);
// Writes all files into dir (made if missing) under temporary names, then renames them. Throws Error.
void write_files(const std::string& dir, const std::vector<std::pair<std::string, std::string>>& name_and_bytes);

}  // namespace corten
