// Messages for people and for programs. docs/diagnostics.md has the formats.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ir/diag.h"

namespace corten {

enum class Format { full, concise, json, github, sarif };

struct Style {
  bool colour = false;
  bool utf8 = true;  // else what is not ASCII is escaped
};

// What is shown once: messages of one code and text about one line.
struct Group {
  Diag diag;
  std::vector<Diag> more;          // the other nodes of that line
  std::string file;                // that the message is about, relative to the working directory where it lies below; "" if none
  int column = 0, end_column = 0;  // from 1, in characters; 0: the source is not at hand
};
std::vector<Group> grouped(std::span<const Diag>);

// Ends with a newline, but for an empty `full` or `concise`.
std::string render(std::span<const Diag>, Format, const Style& = {});

std::string relative_path(const std::string&);                   // to the working directory, where it lies below
std::string printable(std::string_view text, bool utf8 = true);  // without what steers a terminal
std::string_view to_text(Severity);
// "3 errors in 14 places, 1 warning"
std::string counts_of(const std::vector<Group>&);

}  // namespace corten
