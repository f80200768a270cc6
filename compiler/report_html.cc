#include "compiler/report_html.h"

#include <fmt/core.h>

#include <algorithm>

#include "compiler/html.h"
#include "compiler/report_fields.h"
#include "compiler/report_sections.h"

namespace corten {

using Json = nlohmann::ordered_json;

const Json& step_at(const Json& report, int step) {
  static const Json null;
  const Json& steps = list_of(report, "steps");
  return step >= 0 && size_t(step) < steps.size() ? steps[size_t(step)] : null;
}

std::string step_name(const Json& report, int step) {
  return fmt::format("step {} ({})", step, text_of(step_at(report, step), "node"));
}

std::string step_link(const Json& report, int step) {
  if (step_at(report, step).is_null()) return "no step";
  return fmt::format("<a href=\"#step-{}\">{}</a>", step, escaped(step_name(report, step)));
}

std::string source_of(const Json& where) {
  const auto line = number_of(where, "line");
  return line ? fmt::format("{}:{:.0f} {}", text_of(where, "file"), *line, text_of(where, "text")) : "";
}

std::string shape_of(const Json& shape) {
  std::string s;
  for (const Json& d : shape) s += (s.empty() ? "" : "\u00d7") + (d.is_number_integer() ? std::to_string(d.get<int64_t>()) : "?");
  return s;
}

TimeFigure time_figure(const Json& report) {
  const Json& bench = part_of(report, "bench");
  if (number_of(bench, "est_cycles")) return {"est_cycles", "Cycles", "estimated from exact counts, zero-wait memory"};
  if (number_of(bench, "instructions")) return {"instructions", "Instructions", "measured on the emulated core", "instructions"};
  return {};
}

// ---- budget -----------------------------------------------------------------------------------------------------------------

namespace {

struct Share {
  std::string what;
  double bytes;
  const char* how;
};

// One bar for a memory, its parts to scale, and the same as a table.
std::string bar(const std::string& id, const std::string& title, const std::vector<Share>& parts) {
  double sum = 0, at = 0;
  for (const Share& p : parts) sum += p.bytes;
  std::string rects, spoken;
  int colour = 0;
  for (const Share& p : parts) {
    const double width = sum > 0 ? 1000 * p.bytes / sum : 0;
    const std::string text = fmt::format("{}: {} bytes, {}", p.what, grouped(p.bytes), p.how);
    rects += fmt::format("<rect class=\"part c{}\" x=\"{:.2f}\" width=\"{:.2f}\" height=\"30\"><title>{}</title></rect>",
                         colour++ % 8, at, width, escaped(text));
    spoken += (spoken.empty() ? "" : "; ") + text;
    at += width;
  }
  Table t(id, title, {{"Part"}, {"Size", "bytes"}, {"Share", "%"}, {"Known by"}}, false);
  colour = 0;
  for (const Share& p : parts)
    t.row({{fmt::format("<span class=\"key c{}\"></span>{}", colour++ % 8, escaped(p.what))},
           figure(p.bytes),
           figure(sum > 0 ? 100 * p.bytes / sum : 0, 1),
           words(p.how)});
  return fmt::format(
             "<h3>{}: {} bytes</h3>\n<svg class=\"bar\" viewBox=\"0 0 1000 30\" preserveAspectRatio=\"none\" role=\"img\" "
             "aria-label=\"{}\">"
             "{}</svg>\n",
             escaped(title), grouped(sum), escaped(spoken), rects) +
         t.html();
}

std::string missing(const std::string& html) { return "<p class=\"missing\">" + html + "</p>\n"; }

}  // namespace

std::string budget_section(const Json& report) {
  const Json& bench = part_of(report, "bench");
  std::vector<Share> flash, ram;
  for (const Json& p : list_of(report, "image_parts"))
    flash.push_back({"image: " + text_of(p, "what"), number_of(p, "bytes").value_or(0), "computed"});
  if (flash.empty()) flash.push_back({"image", number_of(report, "image_bytes").value_or(0), "computed"});
  if (const auto code = number_of(bench, "code_bytes"))
    flash.push_back({"code: runtime and kernels", *code, "measured in the firmware"});
  ram.push_back({"arena, scratch included", number_of(part_of(report, "arena"), "bytes").value_or(0), "computed"});
  if (const auto state = number_of(bench, "state_bytes")) ram.push_back({"runtime state", *state, "measured on the emulated core"});
  if (const auto stack = number_of(bench, "stack_bytes"))
    ram.push_back({"stack of an inference", *stack, "measured on the emulated core"});
  std::string s = bar("flash-table", "Flash", flash);
  if (!number_of(bench, "code_bytes")) s += missing("Left out: code of runtime and kernels. Unavailable: no bench was given.");
  s += bar("ram-table", "RAM", ram);
  if (!number_of(bench, "stack_bytes")) s += missing("Left out: stack and runtime state. Unavailable: no bench was given.");
  return s + "<p>Left out in any case: your application, its start-up code and its own stack.</p>\n";
}

// ---- steps ------------------------------------------------------------------------------------------------------------------

namespace {

std::optional<double> per(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional<double>(*a / *b) : std::nullopt;
}

// The columns of the step table, and which of them there are figures for.
struct StepColumns {
  bool instructions, cycles, compared;
  std::optional<double> all_instructions, all_cycles;

  explicit StepColumns(const Json& report) {
    const Json& bench = part_of(report, "bench");
    all_instructions = number_of(bench, "instructions"), all_cycles = number_of(bench, "est_cycles");
    instructions = all_instructions.has_value(), cycles = all_cycles.has_value();
    compared = !part_of(report, "comparison").is_null();
  }

  std::vector<Column> names() const {
    std::vector<Column> c = {{"Step"}, {"Module"}, {"Op"}, {"Shape", "device's order"}, {"Kernel"}};
    if (instructions)
      c.insert(c.end(), {{"Instructions", "measured, emulated core"}, {"Share", "% of instructions"}, {"Per MAC", "instructions"}});
    if (cycles) c.insert(c.end(), {{"Cycles", "estimated"}, {"Share", "% of cycles"}, {"Per MAC", "cycles, estimated"}});
    c.insert(c.end(), {{"MACs", "computed"}, {"Constants", "bytes, computed"}, {"Scratch", "bytes, computed"}});
    if (compared) c.insert(c.end(), {{"SQNR", "dB, measured on the host"}, {"Saturated", "%, measured on the host"}});
    c.push_back({"Source"});
    return c;
  }

  std::vector<Cell> cells(const Json& step, int index) const {
    const auto macs = number_of(step, "macs");
    std::vector<Cell> c = {{fmt::format("{} <code>{}</code>", index, escaped(text_of(step, "node"))), double(index)},
                           code(text_of(part_of(step, "where"), "module")),
                           code(text_of(step, "op")),
                           words(shape_of(list_of(step, "shape"))),
                           code(text_of(step, "kernel"))};
    const auto time = [&](const char* key, std::optional<double> all) {
      const auto own = number_of(step, key), share = per(own, all);
      c.insert(c.end(),
               {figure(own), figure(share ? std::optional<double>(100 * *share) : std::nullopt, 1), figure(per(own, macs), 2)});
    };
    if (instructions) time("instructions", all_instructions);
    if (cycles) time("est_cycles", all_cycles);
    c.insert(c.end(), {figure(macs), figure(number_of(step, "constant_bytes")), figure(number_of(step, "scratch_bytes"))});
    if (compared) {
      const auto saturated = number_of(step, "saturated"), db = number_of(step, "sqnr_db");
      c.push_back(db && *db >= 200 ? Cell{"exact", *db, true} : figure(db, 1));
      c.push_back(figure(saturated ? std::optional<double>(100 * *saturated) : std::nullopt, 3));
    }
    c.push_back(code(source_of(part_of(step, "where"))));
    return c;
  }
};

}  // namespace

std::string steps_section(const Json& report) {
  const StepColumns columns(report);
  std::string s;
  if (!columns.instructions)
    s +=
        missing("Instructions and cycles are unavailable: no bench was given (<code>corten report DIR --bench BENCH.json</code>).");
  if (!columns.compared)
    s += missing(
        "SQNR and saturation are unavailable: no comparison was given (<code>corten report DIR --compare COMPARE.json</code>).");
  s += "<p class=\"controls\"><label for=\"step-search\">Search</label> <input id=\"step-search\" type=\"search\" "
       "autocomplete=\"off\" spellcheck=\"false\"> "
       "<span id=\"step-count\" role=\"status\"></span></p>\n";
  Table t("step-table", "Steps in the order they run", columns.names());
  int index = 0;
  for (const Json& step : list_of(report, "steps")) {
    t.row(columns.cells(step, index), fmt::format("step-{}", index));
    index++;
  }
  return s + t.html();
}

// ---- the page ---------------------------------------------------------------------------------------------------------------

namespace {

std::string section(const char* id, const char* title, const std::string& html) {
  return fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n", id,
                     title, html);
}

std::string fact(const std::string& name, const std::string& value, const std::string& how) {
  return fmt::format("<div><dt>{}</dt><dd>{} <small>{}</small></dd></div>\n", name, value, how);
}

// The figures that people ask for first.
std::string facts(const Json& report) {
  const Json& bench = part_of(report, "bench");
  const auto sum = [&](const char* key) {
    double total = 0;
    for (const Json& step : list_of(report, "steps")) total += number_of(step, key).value_or(0);
    return total;
  };
  std::string s = "<dl class=\"facts\">\n";
  s += fact("Image", grouped(number_of(report, "image_bytes")), "bytes, computed");
  s += fact("Arena", grouped(number_of(part_of(report, "arena"), "bytes")), "bytes, computed");
  s += fact("Multiply-accumulates", grouped(sum("macs")), "computed");
  s += fact("Steps", grouped(double(list_of(report, "steps").size())), "computed");
  const auto instructions = number_of(bench, "instructions"), cycles = number_of(bench, "est_cycles");
  s += fact("Instructions", grouped(instructions), instructions ? "measured on the emulated core" : "no bench was given");
  s += fact("Cycles", grouped(cycles),
            cycles            ? "estimated, zero-wait memory"
            : bench.is_null() ? "no bench was given"
                              : "the bench has no estimate");
  const Json& db = list_of(part_of(report, "comparison"), "output_sqnr_db");
  std::string outputs;
  for (const Json& v : db)
    outputs += (outputs.empty() ? "" : ", ") + (v.is_number() ? fmt::format("{:.1f}", v.get<double>()) : "?");
  s += fact("SQNR of outputs", outputs.empty() ? grouped(std::optional<double>()) : outputs,
            outputs.empty() ? "no comparison was given" : "dB, measured on the host");
  return s + "</dl>\n";
}

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none';
  form-action 'none'">
<link rel="icon" href="data:,">
)";

struct Section {
  const char *id, *title;
  std::string (*html)(const Json&);
};
constexpr Section kSections[] = {
    {"budget", "Memory budget", budget_section},      {"advice", "Advice", advice_section},
    {"arena", "Arena over time", arena_section},      {"steps", "Steps", steps_section},
    {"accuracy", "Accuracy", accuracy_section},       {"decisions", "Decisions and fallbacks", decisions_section},
    {"difference", "Difference", difference_section},
};

}  // namespace

std::string report_html(const Json& report) {
  const std::string name = escaped(text_of(report, "name"));
  std::string s = kHead;
  s += "<title>" + name + " \u00b7 Corten report</title>\n<style>\n" + kReportStyle + "</style>\n</head>\n<body>\n";
  s += "<a class=\"skip\" href=\"#steps\">Skip to the steps</a>\n<header>\n<h1>" + name + "</h1>\n";
  s += fmt::format("<p>Compiled from <code>{}</code> for <b>{}</b> ({} kernels) by Corten {}.</p>\n",
                   escaped(text_of(report, "model")), escaped(text_of(report, "target")), escaped(text_of(report, "tier")),
                   escaped(text_of(report, "compiler")));
  s += facts(report) + "<nav aria-label=\"Sections\"><ul>\n";
  for (const Section& part : kSections) s += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", part.id, part.title);
  s += "</ul></nav>\n</header>\n<main>\n";
  for (const Section& part : kSections) s += section(part.id, part.title, part.html(report));
  s += "</main>\n<script type=\"application/json\" id=\"report\">" + json_in_script(report) + "</script>\n";
  return s + "<script>\n" + kReportScript + "</script>\n</body>\n</html>\n";
}

}  // namespace corten
