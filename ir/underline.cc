#include "ir/underline.h"

#include <algorithm>
#include <map>

#include "ir/words.h"

namespace corten {

namespace {

constexpr size_t kNotFound = std::string_view::npos;

// Where `what` is in the text, if it is there once; `joined` says whether a character would make another word of it.
template <class Joined>
size_t only_place(std::string_view text, std::string_view what, Joined joined) {
  size_t found = kNotFound;
  for (size_t at = text.find(what); at != kNotFound; at = text.find(what, at + 1)) {
    if ((at > 0 && joined(text[at - 1])) || (at + what.size() < text.size() && joined(text[at + what.size()]))) continue;
    if (found != kNotFound) return kNotFound;
    found = at;
  }
  return found;
}

bool is_name_char(char c) { return is_word_char(c) && c != '.'; }

// "aten.add_.Tensor" -> "add", "aten._softmax.default" -> "softmax"
std::string_view base_name(std::string_view aten) {
  aten = aten.substr(0, aten.rfind('.'));
  aten = aten.substr(aten.rfind('.') + 1);
  while (aten.starts_with('_')) aten.remove_prefix(1);
  while (aten.ends_with('_')) aten.remove_suffix(1);
  return aten;
}

std::string_view symbol_of(std::string_view name) {
  static const std::map<std::string_view, std::string_view> symbols = {
      {"add", "+"},  {"sub", "-"},  {"mul", "*"},       {"div", "/"},           {"matmul", "@"},     {"mm", "@"},  {"bmm", "@"},
      {"pow", "**"}, {"gt", ">"},   {"lt", "<"},        {"ge", ">="},           {"le", "<="},        {"eq", "=="}, {"ne", "!="},
      {"neg", "-"},  {"rsub", "-"}, {"remainder", "%"}, {"floor_divide", "//"}, {"bitwise_not", "~"}};
  const auto found = symbols.find(name);
  return found == symbols.end() ? std::string_view() : found->second;
}

Underline called(const Diag& d) {
  const std::string_view text = d.where.text, module = d.where.module;
  const std::string_view layer = module.substr(module.rfind('.') + 1);
  const auto is_symbol = [](char c) { return std::string_view("+-*/@%<>=!~").find(c) != kNotFound; };
  if (!layer.empty()) {
    const std::string member = "self." + std::string(layer);
    if (const size_t at = only_place(text, member, is_name_char); at != kNotFound) return {at, member.size(), {}};
  }
  const std::string_view name = base_name(d.aten);
  if (name.empty()) return {};
  for (const std::string& word : {std::string(name), std::string(name) + "_"}) {
    size_t at = only_place(text, word, is_name_char);
    if (at == kNotFound) continue;
    const size_t end = at + word.size();
    while (at > 0 && is_word_char(text[at - 1])) at--;  // torch.topk
    while (text[at] == '.') at++;
    return {at, end - at, {}};
  }
  const std::string_view symbol = symbol_of(name);
  const size_t at = symbol.empty() ? kNotFound : only_place(text, symbol, is_symbol);
  return at == kNotFound ? Underline{} : Underline{at, symbol.size(), {}};
}

size_t characters(std::string_view s) {
  return size_t(std::count_if(s.begin(), s.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
}

size_t bytes_of(std::string_view s, size_t count) {
  size_t i = 0;
  for (; i < s.size() && (count > 0 || (uint8_t(s[i]) & 0xc0) == 0x80); i++)
    if ((uint8_t(s[i]) & 0xc0) != 0x80) count--;
  return i;
}

}  // namespace

Underline underline_of(const Diag& d) {
  const std::string& text = d.where.text;
  const size_t begin = d.where.marks.find_first_not_of(' '), end = d.where.marks.find_last_not_of(' ');
  if (begin != kNotFound && end < characters(text)) {
    const size_t from = bytes_of(text, begin);
    return {from, bytes_of(text, end + 1) - from, d.where.marks.substr(begin, end + 1 - begin)};
  }
  Underline s = called(d);
  if (!s.size) s = {0, text.size(), {}};
  s.marks = std::string(characters(std::string_view(text).substr(s.begin, s.size)), '^');
  return s;
}

}  // namespace corten
