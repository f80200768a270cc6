#include "compiler/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "compiler/elf.h"
#include "compiler/firmware.h"
#include "compiler/process.h"
#include "compiler/program_file.h"
#include "compiler/report_fields.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShown = 4;

struct Part {
  uint64_t bytes;
  std::string what;
  const Json* step;  // that it belongs to; null if none
};

uint64_t bytes_of(const Json& j, const char* key) { return uint64_t(number_of(j, key).value_or(0)); }

std::string in_bytes(uint64_t n) { return grouped_digits(n) + " bytes"; }

// At the place of the largest part.
Diag over(Code code, const Json& report, const std::string& what, uint64_t is, uint64_t limit, const char* option,
          std::vector<Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  Diag d(code, fmt::format("{} takes {}, {} more than {} allows", what, in_bytes(is), grouped_digits(is - limit), option));
  d.subject = text_of(report, "model");
  std::string largest;
  for (size_t i = 0; i < std::min(parts.size(), kShown); i++)
    largest += fmt::format("{}{} {}", i ? ", " : "", parts[i].what, in_bytes(parts[i].bytes));
  if (!parts.empty()) d.notes.push_back("the largest: " + largest);
  if (parts.empty() || !parts[0].step) return d;
  const Json &step = *parts[0].step, &where = part_of(step, "where");
  d.node = text_of(step, "node"), d.aten = text_of(step, "aten");
  d.where.file = text_of(where, "file"), d.where.line = int_of(where, "line", 0);
  d.where.text = text_of(where, "text"), d.where.module = text_of(where, "module");
  return d;
}

// What lives at the fullest step.
std::vector<Part> ram_parts(const Json& report) {
  const Json &steps = list_of(report, "steps"), &arena = part_of(report, "arena");
  const int peak = int_of(arena, "lower_bound_step", 0);
  std::map<std::string, const Json*> by_node;
  for (const Json& s : steps) by_node[text_of(s, "node")] = &s;
  std::vector<Part> parts;
  for (const Json& t : list_of(report, "tensors")) {
    if (int_of(t, "first_step", 0) > peak || int_of(t, "last_step", 0) < peak) continue;
    const auto made = by_node.find(text_of(t, "node"));
    parts.push_back({bytes_of(t, "bytes"), "'" + text_of(t, "name") + "'", made == by_node.end() ? nullptr : made->second});
  }
  if (peak >= 0 && size_t(peak) < steps.size() && bytes_of(steps[size_t(peak)], "scratch_bytes"))
    parts.push_back({bytes_of(steps[size_t(peak)], "scratch_bytes"), "scratch of " + text_of(steps[size_t(peak)], "node"),
                     &steps[size_t(peak)]});
  return parts;
}

std::vector<Part> flash_parts(const Json& report, uint64_t code) {
  std::vector<Part> parts;
  for (const Json& s : list_of(report, "steps"))
    if (const uint64_t bytes = bytes_of(s, "constant_bytes")) parts.push_back({bytes, "weights of " + text_of(s, "node"), &s});
  if (code) parts.push_back({code, "code of runtime and kernels", nullptr});
  return parts;
}

void check_ram(const Json& report, uint64_t limit, std::vector<Diag>& found) {
  const uint64_t arena = bytes_of(part_of(report, "arena"), "bytes"), is = arena + kStateBytes;
  if (is <= limit) return;
  std::vector<Part> parts = ram_parts(report);
  found.push_back(over(Code::ram_budget, report, "RAM", is, limit, "--max-ram", parts));
  const std::string fullest =
      text_of(list_of(report, "steps").at(size_t(int_of(part_of(report, "arena"), "lower_bound_step", 0))), "node");
  found.back().notes.insert(found.back().notes.begin(),
                            fmt::format("arena {}, fullest at {}; state of the runtime {}; stack is not counted", in_bytes(arena),
                                        fullest, in_bytes(kStateBytes)));
  found.back().help = "smaller inputs, an earlier stride or fewer channels in the layers named";
  if (text_of(part_of(report, "options"), "optimize") != "ram") found.back().help += "; --optimize ram may do";
}

void check_flash(const Json& report, std::span<const uint8_t> image, uint64_t limit, std::vector<Diag>& found) {
  uint64_t code = 0;
  if (image.size() <= limit) {  // else there is no need to know
    TemporaryDirectory build;
    code = code_bytes(Elf::load(build_firmware(Program::from_bytes({image.begin(), image.end()}), build.path())));
  }
  const uint64_t is = image.size() + code;
  if (is <= limit) return;
  std::vector<Part> parts = flash_parts(report, code);
  found.push_back(over(Code::flash_budget, report, code ? "flash" : "the image alone", is, limit, "--max-flash", parts));
  if (code)
    found.back().notes.insert(found.back().notes.begin(),
                              fmt::format("image {}, code of runtime and kernels {}", in_bytes(image.size()), in_bytes(code)));
  found.back().help = "fewer channels or smaller layers where the weights are";
  if (text_of(part_of(report, "options"), "optimize") != "size") found.back().help += "; --optimize size takes smaller kernels";
}

}  // namespace

std::optional<uint64_t> parse_bytes(std::string_view s) {
  constexpr double kLargest = 1e15;
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !(value >= 0) || value > kLargest) return {};
  const std::string_view unit = s.substr(size_t(end - s.data()));
  if (unit == "K" || unit == "k" || unit == "KiB")
    value *= 1024;
  else if (unit == "M" || unit == "MiB")
    value *= 1024 * 1024;
  else if (!unit.empty())
    return {};
  return uint64_t(value);
}

std::string grouped_digits(uint64_t n) {
  std::string s = std::to_string(n);
  for (size_t at = s.size(); at > 3;) s.insert(at -= 3, ",");
  return s;
}

void check_budget(const Json& report, std::span<const uint8_t> image, const Budget& budget) {
  std::vector<Diag> found;
  if (budget.ram) check_ram(report, *budget.ram, found);
  if (budget.flash) check_flash(report, image, *budget.flash, found);
  if (!found.empty()) throw Errors(std::move(found));
}

}  // namespace corten
