// What of a source line a message is about. Private to ir/.
#pragma once
#include <cstddef>
#include <string>

#include "ir/diag.h"

namespace corten {

struct Underline {
  size_t begin = 0, size = 0;  // bytes of the text
  std::string marks;           // "~~~^^^", as many as there are characters
};

// What Python marked, else what was called, if it is there only once; else all of the text.
Underline underline_of(const Diag&);

}  // namespace corten
