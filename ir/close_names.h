// What somebody may have meant.
#pragma once
#include <cstddef>
#include <string_view>

namespace corten {

// Characters to insert, delete or change until one is the other.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace corten
