#include "ir/codes.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace corten {

namespace {

struct Explanation {
  std::string_view why, wrong, right;
};

// One for each code, by name: a missing or a surplus one does not compile.
#define CORTEN_EXPLANATION(name, why, wrong, right) [[maybe_unused]] constexpr Explanation name##_explained = {why, wrong, right};
#include "ir/explain_data.def"
#include "ir/explain_files.def"
#include "ir/explain_model.def"
#include "ir/explain_tools.def"
#undef CORTEN_EXPLANATION

constexpr std::array kCodes = {
#define CORTEN_CODE(name, code, title) \
  CodeInfo{Code::name, #name, code, title, name##_explained.why, name##_explained.wrong, name##_explained.right},
#include "ir/codes.def"
#undef CORTEN_CODE
};

}  // namespace

std::span<const CodeInfo> all_codes() { return kCodes; }

const CodeInfo& info_of(Code code) { return kCodes[size_t(code)]; }

const CodeInfo* find_code(std::string_view text) {
  const auto same = [](char a, char b) { return a == std::toupper(static_cast<unsigned char>(b)); };
  const auto found = std::find_if(kCodes.begin(), kCodes.end(), [&](const CodeInfo& c) {
    return std::equal(c.text.begin(), c.text.end(), text.begin(), text.end(), same);
  });
  return found == kCodes.end() ? nullptr : &*found;
}

}  // namespace corten
