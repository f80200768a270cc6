#include "compiler/stack_trace.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace corten {

namespace {

std::string_view stripped(std::string_view s) {
  const size_t begin = s.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t\r\n") - begin + 1);
}

// PyTorch's own files, whatever folder it is installed in, and code that was made while tracing.
bool is_torch_file(std::string_view file) {
  if (file.empty() || file.front() == '<') return true;
  for (std::string_view part :
       {"site-packages/torch/", "dist-packages/torch/", "site-packages/torchao/", "/torch/nn/", "/torch/fx/", "/torch/export/",
        "/torch/_", "/torch/utils/", "/torch/ao/", "/torch/functional.py"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  return file.starts_with("torch/");
}

// `  File "a.py", line 3, in forward`
bool parse_frame(std::string_view line, Location& frame) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  line = stripped(line);
  if (!line.starts_with(kFile)) return false;
  const size_t end = line.rfind(kLine);
  if (end == std::string_view::npos || end < kFile.size()) return false;
  frame = Location{};
  frame.file = std::string(line.substr(kFile.size(), end - kFile.size()));
  const std::string_view rest = line.substr(end + kLine.size());
  const auto [next, error] = std::from_chars(rest.data(), rest.data() + rest.size(), frame.line);
  if (error != std::errc() || frame.line < 0) frame.line = 0;
  const std::string_view tail = rest.substr(size_t(next - rest.data()));
  if (tail.starts_with(kIn)) frame.function = std::string(tail.substr(kIn.size()));
  return true;
}

bool is_marker(std::string_view line) {  // "   ~~^~~"
  return line.find_first_not_of(" ^~") == std::string_view::npos && line.find_first_of("^~") != std::string_view::npos;
}

}  // namespace

Location parse_stack_trace(std::string_view trace) {
  Location user, last, frame;
  bool open = false;
  size_t indent = 0;  // of the source text
  auto close = [&] {
    if (!open) return;
    last = frame;
    if (!is_torch_file(frame.file)) user = frame;
  };
  while (!trace.empty()) {
    const size_t end = trace.find('\n');
    const std::string_view line = trace.substr(0, end);
    trace = end == std::string_view::npos ? std::string_view() : trace.substr(end + 1);
    Location next;
    if (parse_frame(line, next)) {
      close();
      frame = next;
      open = true;
    } else if (open && is_marker(line)) {
      if (!frame.text.empty() && frame.marks.empty() && line.size() > indent) frame.marks = std::string(line.substr(indent));
    } else if (open && frame.text.empty()) {
      frame.text = std::string(stripped(line));
      indent = std::min(line.size(), line.find_first_not_of(" \t"));
    }
  }
  close();
  last.library = !last.file.empty();
  return user.file.empty() ? last : user;
}

std::string parse_module_stack(std::string_view stack) {
  const size_t last = stack.rfind(';');
  if (last != std::string_view::npos) stack = stack.substr(last + 1);
  const size_t first = stack.find(',');
  if (first == std::string_view::npos) return {};
  std::string_view path = stack.substr(first + 1);
  path = path.substr(0, path.find(','));
  for (std::string_view self : {"L__self__", "L['self']"}) {
    while (path.starts_with(self)) path.remove_prefix(self.size());
  }
  while (path.starts_with('.')) path.remove_prefix(1);
  return std::string(stripped(path.substr(0, path.find('@'))));  // "conv@1": its second call
}

std::string parse_from_node(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  std::string name;
  for (const nlohmann::json* list = &json; list->is_array() && !list->empty() && (*list)[0].is_object();) {
    const nlohmann::json& source = (*list)[0];
    const auto named = source.find("name"), before = source.find("from_node");
    if (named != source.end() && named->is_string()) name = named->get<std::string>();
    if (before == source.end()) break;
    list = &*before;
  }
  return name;
}

}  // namespace corten
