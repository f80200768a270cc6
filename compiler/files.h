// Reading and writing files whole; nothing half-written is ever seen under its final name.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace corten {

std::vector<uint8_t> read_file(const std::string& path);  // throws Error
// Writes all files into dir (made if missing) under temporary names, then renames them. Throws Error.
void write_files(const std::string& dir, const std::vector<std::pair<std::string, std::string>>& name_and_bytes);

}  // namespace corten
