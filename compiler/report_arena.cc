// The arena over time: x are steps, y are offsets, each tensor and each step's scratch a rectangle.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "compiler/html.h"
#include "compiler/report_fields.h"
#include "compiler/report_sections.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kLeft = 74, kTop = 22, kHeight = 340, kBottom = 40, kRight = 12;
constexpr double kLetter = 6.6;  // width of one, in the names on rectangles

struct Block {
  std::string name, kind, source;
  double offset = 0, bytes = 0;
  int first = 0, last = 0;
};

std::vector<Block> blocks_of(const Json& report, int steps) {
  std::vector<Block> all;
  for (const Json& t : list_of(report, "tensors")) {
    Block b;
    b.name = text_of(t, "name"), b.kind = text_of(t, "kind"), b.source = source_of(part_of(t, "where"));
    if (b.kind != "input" && b.kind != "output") b.kind = "value";
    b.offset = number_of(t, "offset").value_or(0), b.bytes = number_of(t, "bytes").value_or(0);
    b.first = int(std::clamp(number_of(t, "first_step").value_or(0), -1.0, double(steps)));
    b.last = int(std::clamp(number_of(t, "last_step").value_or(0), double(b.first), double(steps)));
    all.push_back(b);
  }
  int i = -1;
  for (const Json& s : list_of(report, "steps")) {
    i++;
    const double bytes = number_of(s, "scratch_bytes").value_or(0);
    if (bytes <= 0) continue;
    all.push_back({"scratch of " + text_of(s, "node"), "scratch", source_of(part_of(s, "where")),
                   number_of(s, "scratch_offset").value_or(0), bytes, i, i});
  }
  return all;
}

class Chart {
 public:
  Chart(const Json& report, int steps)
      : report_(report),
        steps_(steps),
        cell_(std::clamp(1040.0 / (steps + 2), 11.0, 90.0)),
        width_(kLeft + cell_ * (steps + 2) + kRight) {
    arena_ = std::max(number_of(part_of(report, "arena"), "bytes").value_or(0), 1.0);
  }

  std::string svg(const std::vector<Block>& blocks) const {
    std::string s = fmt::format(
        "<svg id=\"arena-chart\" width=\"{:.0f}\" height=\"{:.0f}\" role=\"group\" aria-label=\"Arena over time: {} tensors and "
        "scratch areas. "
        "Arrow keys go from one to the next, Enter fixes its first step.\" data-left=\"{}\" data-cell=\"{}\" data-steps=\"{}\">\n",
        width_, kTop + kHeight + kBottom, blocks.size(), kLeft, cell_, steps_);
    s += "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
         "<rect width=\"6\" height=\"6\" class=\"hatch-ground\"/><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" "
         "class=\"hatch-line\"/></pattern></defs>\n";
    s += axes();
    for (const Block& b : blocks) s += rectangle(b);
    return s + marks() +
           fmt::format("<rect id=\"cursor\" y=\"{}\" width=\"{}\" height=\"{}\" visibility=\"hidden\"/>\n</svg>\n", kTop, cell_,
                       kHeight);
  }

 private:
  const Json& report_;
  int steps_;
  double cell_, width_, arena_;

  double x(int step) const { return kLeft + cell_ * (step + 1); }
  double y(double offset) const { return kTop + kHeight * (1 - std::clamp(offset / arena_, 0.0, 1.0)); }

  std::string axes() const {
    std::string s;
    for (int k = 0; k <= 4; k++) {
      const double bytes = std::floor(arena_ * k / 4);
      s += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, width_ - kRight,
                       y(bytes), y(bytes));
      s += fmt::format("<text class=\"axis\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6, y(bytes) + 4,
                       grouped(bytes));
    }
    const int every = std::max(1, int(std::ceil(34 / cell_)));
    for (int step = 0; step < steps_; step += every) s += label(step, std::to_string(step));
    if (cell_ >= 16) s += label(-1, "in") + label(steps_, "out");
    return s +
           fmt::format(
               "<text class=\"axis\" x=\"{}\" y=\"{}\">step</text>\n<text class=\"axis\" x=\"4\" y=\"12\">offset, bytes</text>\n",
               kLeft, kTop + kHeight + 33);
  }

  std::string label(int step, const std::string& text) const {
    return fmt::format("<text class=\"axis\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(step) + cell_ / 2,
                       kTop + kHeight + 16, text);
  }

  std::string when(int step) const {
    return step < 0 ? "before the first step" : step >= steps_ ? "after the last step" : fmt::format("step {}", step);
  }

  std::string rectangle(const Block& b) const {
    const double wide = cell_ * (b.last - b.first + 1), top = y(b.offset + b.bytes), high = std::max(y(b.offset) - top, 1.0);
    const std::string lives = b.first == b.last ? when(b.first) : when(b.first) + " to " + when(b.last);
    const std::string title = fmt::format("{}: {} bytes at offset {}, {}{}{}", b.name, grouped(b.bytes), grouped(b.offset), lives,
                                          b.source.empty() ? "" : ", ", b.source);
    std::string s = fmt::format(
        "<rect class=\"block {}\" role=\"img\" aria-label=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "data-name=\"{}\" "
        "data-offset=\"{:.0f}\" data-bytes=\"{:.0f}\" data-first=\"{}\" data-last=\"{}\"><title>{}</title></rect>\n",
        b.kind, escaped(title), x(b.first) + 0.5, top, wide - 1, high, escaped(b.name), b.offset, b.bytes, b.first, b.last,
        escaped(title));
    const size_t fits = size_t(std::max(0.0, (wide - 8) / kLetter));
    // Names of bytes beyond ASCII are not cut: a cut may fall inside a letter.
    const bool ascii = std::all_of(b.name.begin(), b.name.end(), [](char c) { return c >= ' ' && c < 0x7f; });
    if (high < 13 || b.kind == "scratch" || !ascii || fits < 4) return s;
    const std::string shown = b.name.size() <= fits ? b.name : b.name.substr(0, fits - 1) + "\u2026";
    return s + fmt::format("<text class=\"name\" aria-hidden=\"true\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(b.first) + 4,
                           top + high / 2 + 4, escaped(shown));
  }

  std::string marks() const {
    const Json& arena = part_of(report_, "arena");
    std::string s = line("peak", arena_, fmt::format("peak {}", grouped(arena_)));
    if (const auto bound = number_of(arena, "lower_bound"); bound && *bound > 0)
      s += line("bound", *bound, *bound < arena_ ? fmt::format("lower bound {}", grouped(*bound)) : "= lower bound");
    if (const int at = int_of(arena, "lower_bound_step", -1); at >= 0 && at < steps_)
      s += fmt::format(
          "<path class=\"mark\" d=\"M{0:.1f} {1} l-5 8 h10 z\"><title>the step that needs the most memory at once</title></path>\n",
          x(at) + cell_ / 2, kTop + kHeight + 20);
    return s;
  }

  std::string line(const char* kind, double bytes, const std::string& text) const {
    const bool peak = std::string_view(kind) == "peak";
    return fmt::format(
        "<line class=\"{}\" x1=\"{}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"axis strong\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
        kind, kLeft, width_ - kRight, y(bytes), y(bytes), peak ? kLeft + 60 : kLeft + 190, y(bytes) - 5, "start", text);
  }
};

std::string tensor_table(const std::vector<Block>& blocks) {
  Table t("tensor-table", "Tensors and scratch of the arena",
          {{"Tensor"},
           {"Kind"},
           {"Size", "bytes, computed"},
           {"Offset", "bytes, computed"},
           {"First step", "-1: input"},
           {"Last step"},
           {"Source"}});
  for (const Block& b : blocks)
    t.row({code(b.name), words(b.kind), figure(b.bytes), figure(b.offset), figure(double(b.first)), figure(double(b.last)),
           code(b.source)});
  return t.html();
}

}  // namespace

std::string arena_section(const Json& report) {
  const int steps = int(list_of(report, "steps").size());
  const std::vector<Block> blocks = blocks_of(report, steps);
  const Json& arena = part_of(report, "arena");
  const auto bytes = number_of(arena, "bytes"), bound = number_of(arena, "lower_bound");
  if (blocks.empty() || !bytes) return "<p class=\"missing\">Unavailable: this report.json has no tensors.</p>\n";
  std::string s = fmt::format("<p>Peak: <b>{}</b> bytes, scratch included (computed).", grouped(*bytes));
  if (bound)
    s += fmt::format(" Lower bound: <b>{}</b> bytes (computed), what {} needs at once, marked by a triangle.", grouped(*bound),
                     step_link(report, int_of(arena, "lower_bound_step", -1)));
  s += " Each rectangle is a tensor, from the step that makes it to the last one that reads it. An output may lie over an operand "
       "that its step "
       "reads for the last time; there rectangles overlap.</p>\n";
  s += "<p class=\"legend\"><span class=\"key input\"></span>input <span class=\"key value\"></span>value <span class=\"key "
       "output\"></span>output "
       "<span class=\"key scratch\"></span>scratch</p>\n";
  s += "<div class=\"scroll chart\">\n" + Chart(report, steps).svg(blocks) + "</div>\n";
  s += "<p id=\"arena-detail\" class=\"detail\" aria-live=\"polite\">Point at a rectangle, or go there by Tab and the arrow keys, "
       "to read what it is.</p>\n";
  s += fmt::format(
      "<p class=\"controls\"><label for=\"arena-step\">Live at step</label> <input id=\"arena-step\" type=\"range\" min=\"-1\" "
      "max=\"{}\" "
      "value=\"{}\"> <output id=\"arena-shown\" for=\"arena-step\"></output></p>\n",
      steps, int_of(arena, "lower_bound_step", 0));
  s += Table("live-table", "Tensors live at the chosen step",
             {{"Tensor"}, {"Size", "bytes, computed"}, {"Offset", "bytes, computed"}, {"First step", "-1: input"}, {"Last step"}},
             false)
           .html();
  return s + "<details><summary>All tensors as a table</summary>\n" + tensor_table(blocks) + "</details>\n";
}

}  // namespace corten
