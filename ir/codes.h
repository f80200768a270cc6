// The codes of messages, and what `corten explain` says about each.
#pragma once
#include <span>
#include <string_view>

namespace corten {

enum class Code {
#define CORTEN_CODE(name, code, title) name,
#include "ir/codes.def"
#undef CORTEN_CODE
};

struct CodeInfo {
  Code code;
  std::string_view name;   // "no_file", as in the enum
  std::string_view text;   // "C0001"
  std::string_view title;  // one line
  std::string_view why;    // paragraphs
  // Python as in a notebook, after `import numpy as np, torch, corten`; lines with ! are commands. "" where nobody can bring it
  // about.
  std::string_view wrong, right;
};

std::span<const CodeInfo> all_codes();
const CodeInfo& info_of(Code);
const CodeInfo* find_code(std::string_view text);  // "C0001" or "c0001"; null if there is none

}  // namespace corten
