#include "ir/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "ir/render_formats.h"
#include "ir/underline.h"

namespace corten {

namespace {

namespace fs = std::filesystem;

constexpr size_t kPlacesShown = 6;
constexpr uintmax_t kLargestSource = 1 << 24;

// The number of characters before the line's text in its file; -1 where the file is not there or has changed.
int indentation(const Location& where) {
  std::error_code error;
  if (where.line <= 0 || !fs::is_regular_file(where.file, error) || fs::file_size(where.file, error) > kLargestSource) return -1;
  std::ifstream file(where.file);
  std::string line;
  for (int i = 0; i < where.line; i++)
    if (!std::getline(file, line)) return -1;
  const size_t begin = std::min(line.size(), line.find_first_not_of(" \t"));
  const bool same = !where.text.empty() && line.compare(begin, where.text.size(), where.text) == 0;
  return same ? int(begin) : -1;
}

size_t width(std::string_view s) {
  return size_t(std::count_if(s.begin(), s.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
}

void place(Group& g) {
  const Location& w = g.diag.where;
  g.file = relative_path(w.file.empty() ? g.diag.subject : w.file);
  const int indent = indentation(w);
  if (indent < 0) return;
  const Underline span = underline_of(g.diag);
  g.column = indent + 1 + int(width(std::string_view(w.text).substr(0, span.begin)));
  g.end_column = g.column + int(span.marks.size());
}

std::string plural(size_t n, const std::string& what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

// The code point at s[i], and i behind it; -1 for a byte that is no UTF-8.
int32_t next_character(std::string_view s, size_t& i) {
  const auto byte = [&](size_t k) { return uint32_t(uint8_t(s[k])); };
  const uint32_t lead = byte(i);
  const size_t follow = lead < 0x80 ? 0 : lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2 : 3;
  if ((lead >= 0x80 && lead < 0xc2) || lead >= 0xf5 || i + follow >= s.size()) return i++, -1;
  uint32_t c = follow == 0 ? lead : lead & (0x3fu >> follow);
  for (size_t k = 1; k <= follow; k++) {
    if ((byte(i + k) & 0xc0) != 0x80) return i++, -1;
    c = c << 6 | (byte(i + k) & 0x3f);
  }
  i += follow + 1;
  return int32_t(c);
}

bool steers_terminal(int32_t c) {
  return (c < 32 && c != '\n') || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

class Page {
 public:
  explicit Page(const Style& style) : style_(style) {}

  void group(const Group& g) {
    const Diag& d = g.diag;
    tone_ = d.severity == Severity::error ? "1;31" : d.severity == Severity::warning ? "1;33" : "1;36";
    head(d);
    source(g);
    for (const std::string& note : notes(g)) remark("note", note);
    for (const std::string& note : d.notes) remark("note", note);
    if (!d.help.empty()) remark("help", d.help);
  }
  void line(const std::string& s) { text_ += s + "\n"; }
  const std::string& text() const { return text_; }

 private:
  std::string tinted(const char* tone, const std::string& s) const {
    return style_.colour ? fmt::format("\033[{}m{}\033[0m", tone, s) : s;
  }
  std::string clean(std::string_view s) const { return printable(s, style_.utf8); }
  std::string gutter(const char* what) const { return std::string(margin_, ' ') + tinted("1;34", what); }

  void head(const Diag& d) {
    const std::string message = clean(d.message);
    const size_t end = message.find('\n');
    line(tinted(tone_, fmt::format("{}[{}]", to_text(d.severity), info_of(d.code).text)) +
         tinted("1", ": " + message.substr(0, end)));
    margin_ = 2;
    if (end == std::string::npos) return;
    for (size_t at = end; at < message.size();) {  // what a tool said
      const size_t next = std::min(message.find('\n', at + 1), message.size());
      if (next > at + 1) line("  " + message.substr(at + 1, next - at - 1));
      at = next;
    }
  }

  void source(const Group& g) {
    const Location& w = g.diag.where;
    if (g.file.empty()) return;
    const std::string number = w.file.empty() || w.line <= 0 ? "" : std::to_string(w.line);
    margin_ = std::max<size_t>(2, number.size() + 1);
    std::string at = number.empty() ? "" : ":" + number;
    if (g.column) at += fmt::format(":{}", g.column);
    line(std::string(margin_ - 1, ' ') + tinted("1;34", "-->") + " " + clean(g.file) + at);
    if (w.file.empty() || w.text.empty()) return;
    const Underline span = underline_of(g.diag);
    const std::string_view text = w.text;
    const std::string before = clean(text.substr(0, span.begin)), under = clean(text.substr(span.begin, span.size));
    std::string marks = span.marks;
    if (width(under) != marks.size()) marks = std::string(width(under), '^');  // escapes are longer
    line(gutter("|"));
    line(tinted("1;34", fmt::format("{:>{}} |", number, margin_ - 1)) + " " + before + under +
         clean(text.substr(span.begin + span.size)));
    line(gutter("|") + " " + std::string(width(before), ' ') + tinted(tone_, marks));
  }

  // Where in the model.
  std::vector<std::string> notes(const Group& g) const {
    const Diag& d = g.diag;
    std::string where;
    if (!d.where.module.empty()) where = "module " + d.where.module;
    if (!d.node.empty()) where += (where.empty() ? "" : ", ") + ("node " + d.node) + (d.aten.empty() ? "" : " (" + d.aten + ")");
    if (!d.subject.empty() && !d.where.file.empty()) where += (where.empty() ? "in " : " of ") + relative_path(d.subject);
    std::vector<std::string> all;
    if (!where.empty()) all.push_back(where);
    std::string places;
    for (size_t i = 0; i < std::min(g.more.size(), kPlacesShown); i++) {
      const Diag& m = g.more[i];
      const bool same = m.where.module.empty() || m.where.module == d.where.module;
      const std::string& name = same ? m.node : m.where.module;
      if (!name.empty()) places += (places.empty() ? ": " : ", ") + name;
    }
    if (g.more.size() > kPlacesShown) places += ", ...";
    if (!g.more.empty()) all.push_back("and " + plural(g.more.size(), "more place") + places);
    return all;
  }

  void remark(const char* kind, const std::string& text) {
    std::string s = clean(text);
    const std::string indent = "\n" + std::string(margin_ + 4 + std::string_view(kind).size(), ' ');
    for (size_t at = s.find('\n'); at != std::string::npos; at = s.find('\n', at + indent.size())) s.replace(at, 1, indent);
    line(gutter("=") + " " + tinted("1", std::string(kind) + ":") + " " + s);
  }

  Style style_;
  const char* tone_ = "1";
  size_t margin_ = 2;
  std::string text_;
};

std::string full(const std::vector<Group>& groups, const Style& style) {
  Page page(style);
  for (const Group& g : groups) page.group(g);
  if (groups.size() > 1 || (!groups.empty() && !groups[0].more.empty())) page.line(counts_of(groups));
  return page.text();
}

std::string concise(const std::vector<Group>& groups, const Style& style) {
  std::string all;
  for (const Group& g : groups) {
    std::string line = g.file.empty() ? "corten" : g.file;
    if (!g.diag.where.file.empty() && g.diag.where.line > 0) line += fmt::format(":{}", g.diag.where.line);
    if (g.column) line += fmt::format(":{}", g.column);
    line += fmt::format(": {}[{}]: {}", to_text(g.diag.severity), info_of(g.diag.code).text, g.diag.message);
    std::replace(line.begin(), line.end(), '\n', ' ');
    all += printable(line, style.utf8) + "\n";
  }
  return all;
}

}  // namespace

std::vector<Group> grouped(std::span<const Diag> diags) {
  std::vector<Group> groups;
  const auto key = [](const Diag& d) { return std::tie(d.severity, d.code, d.message, d.subject, d.where.file, d.where.line); };
  for (const Diag& d : diags) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return key(g.diag) == key(d); });
    if (same != groups.end())
      same->more.push_back(d);
    else
      groups.push_back({d, {}, {}}), place(groups.back());
  }
  return groups;
}

std::string render(std::span<const Diag> diags, Format format, const Style& style) {
  const std::vector<Group> groups = grouped(diags);
  switch (format) {
    case Format::full:
      return full(groups, style);
    case Format::concise:
      return concise(groups, style);
    case Format::json:
      return json_text(groups);
    case Format::github:
      return github_text(groups);
    case Format::sarif:
      return sarif_text(groups);
  }
  return {};
}

std::string relative_path(const std::string& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error), p = fs::path(path).lexically_normal();
  if (error || !p.is_absolute()) return path;
  const fs::path relative = p.lexically_relative(here);
  return relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

std::string printable(std::string_view s, bool utf8) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    const size_t begin = i;
    const int32_t c = next_character(s, i);
    if (c < 0)
      out += fmt::format("\\x{:02x}", uint8_t(s[begin]));
    else if (c == '\t')
      out += ' ';
    else if (steers_terminal(c) || (c > 126 && !utf8))
      out += c < 0x100 ? fmt::format("\\x{:02x}", c) : c < 0x10000 ? fmt::format("\\u{:04x}", c) : fmt::format("\\U{:08x}", c);
    else
      out += s.substr(begin, i - begin);
  }
  return out;
}

std::string_view to_text(Severity s) { return s == Severity::error ? "error" : s == Severity::warning ? "warning" : "note"; }

std::string counts_of(const std::vector<Group>& groups) {
  std::string s;
  for (Severity severity : {Severity::error, Severity::warning, Severity::note}) {
    size_t count = 0, places = 0;
    for (const Group& g : groups)
      if (g.diag.severity == severity) count++, places += 1 + g.more.size();
    if (!count) continue;
    s += (s.empty() ? "" : ", ") + plural(count, std::string(to_text(severity)));
    if (places > count) s += fmt::format(" in {} places", places);
  }
  return s;
}

}  // namespace corten
