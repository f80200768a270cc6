// Sections of report.html that are tables of facts: decisions, the difference against an earlier report.
#include "compiler/report_sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "compiler/html.h"
#include "compiler/report_fields.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

std::string missing(const std::string& html) { return "<p class=\"missing\">" + html + "</p>\n"; }

}  // namespace

// ---- decisions --------------------------------------------------------------------------------------------------------------

namespace {

std::string observers(const Json& calibration) {
  std::string s;
  for (const auto& [name, error] : part_of(calibration, "relative_output_error").items())
    if (error.is_number())
      s += fmt::format("{}{}: {:.3g}",
                       s.empty() ? "Relative squared error of the outputs over calibration samples, measured on the host: " : "; ",
                       escaped(name), error.get<double>());
  return s.empty() ? "Only this one was tried." : s;
}

std::string option_table(const Json& report) {
  const Json& calibration = part_of(report, "calibration");
  const Json& options = part_of(report, "options");
  const double samples = number_of(calibration, "samples").value_or(0);
  Table t("decision-table", "Decisions", {{"Decision"}, {"Taken"}, {"Why"}}, false);
  t.row({words("Scales"), words(samples > 0 ? "calibrated" : "given"),
         words(samples > 0 ? fmt::format("over {} samples, where the program gives none", grouped(samples))
                           : "by the program (quantize and dequantize nodes)")});
  if (samples > 0)
    t.row({words("Observer"),
           words(text_of(calibration, "observer")),
           {"<span class=\"prose\">" + observers(calibration) + "</span>"}});
  t.row({words("Kernel rows"), words(text_of(options, "optimize")), words("--optimize")});
  t.row({words("Inputs and outputs"), words(flag_of(options, "float_io") ? "float32" : "int8"),
         words(flag_of(options, "float_io") ? "--float-io" : "the default")});
  t.row({words("Inputs' memory"), words(flag_of(options, "keep_inputs") ? "kept" : "reused once read"),
         words(flag_of(options, "keep_inputs") ? "--keep-inputs" : "the default")});
  return t.html();
}

std::string pruned_table(const Json& report) {
  Table t("pruned-table", "Channels left out because they never change",
          {{"Step"}, {"Left out", "channels, computed"}, {"Of", "channels"}});
  int index = 0;
  for (const Json& step : list_of(report, "steps")) {
    const Json& pruned = part_of(step, "pruned");
    if (!pruned.is_null())
      t.row({{step_link(report, index), double(index)},
             figure(number_of(pruned, "left_out")),
             figure(number_of(pruned, "channels"))});
    index++;
  }
  return t.empty() ? "<p>Channels left out because they never change: none.</p>\n" : t.html();
}

// Steps that could not take the first row of their operator that this core can run.
std::string row_table(const Json& report) {
  Table t("row-table", "Steps that do not run the first kernel row of their operator",
          {{"Step"}, {"Kernel"}, {"Tier"}, {"Rows before it, and what they need"}});
  const std::string tier = text_of(report, "tier");
  int index = -1;
  for (const Json& step : list_of(report, "steps")) {
    index++;
    const Json& rows = list_of(step, "skipped_rows");
    const std::string own = text_of(step, "kernel_tier");
    if (own.empty() || (rows.empty() && own == tier)) continue;
    std::string why;
    for (const Json& row : rows)
      why += fmt::format("<li><code>{}</code> needs {}</li>", escaped(text_of(row, "kernel")), escaped(unmet_text(row)));
    why = why.empty() ? fmt::format("{} has no {} kernel", escaped(text_of(step, "op")), escaped(tier)) : "<ul>" + why + "</ul>";
    t.row({{step_link(report, index), double(index)}, code(text_of(step, "kernel")), words(own), {why}});
  }
  if (t.empty()) return "<p>Every step runs the first kernel row of its operator.</p>\n";
  return "<details><summary>Kernel rows, and the conditions of those before them</summary>\n<p>Rows of an operator go from special "
         "to general; a "
         "depthwise row before a plain convolution is no loss. The advice has the steps that fell to a lower tier or to a general "
         "row.</p>\n" +
         t.html() + "</details>\n";
}

std::string notes(const Json& report) {
  std::string s;
  for (const Json& n : list_of(report, "notes")) {
    const std::string source = source_of(part_of(n, "where")), help = text_of(n, "help");
    s += fmt::format("<li>{}: {}{}{}</li>\n", escaped(text_of(n, "severity")), escaped(text_of(n, "message")),
                     source.empty() ? "" : " <code>" + escaped(source) + "</code>", help.empty() ? "" : " Help: " + escaped(help));
  }
  return s.empty() ? "<p>The compiler gave no warnings.</p>\n" : "<h3>Warnings and notes</h3>\n<ul>" + s + "</ul>\n";
}

}  // namespace

std::string decisions_section(const Json& report) {
  return option_table(report) + pruned_table(report) + row_table(report) + notes(report);
}

// ---- difference -------------------------------------------------------------------------------------------------------------

namespace {

using Figures = std::vector<std::pair<std::string, std::optional<double>>>;

double sum_of(const Json& report, const char* key) {
  double sum = 0;
  for (const Json& step : list_of(report, "steps")) sum += number_of(step, key).value_or(0);
  return sum;
}

Figures totals_of(const Json& report) {
  const Json &arena = part_of(report, "arena"), &bench = part_of(report, "bench"), &comparison = part_of(report, "comparison");
  Figures f = {{"Image, bytes, computed", number_of(report, "image_bytes")},
               {"Arena, bytes, computed", number_of(arena, "bytes")},
               {"Lower bound of the arena, bytes, computed", number_of(arena, "lower_bound")},
               {"Steps, computed", double(list_of(report, "steps").size())},
               {"Multiply-accumulates, computed", sum_of(report, "macs")},
               {"Instructions, measured on the emulated core", number_of(bench, "instructions")},
               {"Cycles, estimated", number_of(bench, "est_cycles")},
               {"Code, bytes, measured", number_of(bench, "code_bytes")},
               {"Stack, bytes, measured", number_of(bench, "stack_bytes")}};
  const Json& outputs = list_of(comparison, "output_sqnr_db");
  const bool known = !outputs.empty() && outputs[0].is_number();
  f.push_back(
      {"SQNR of output 0, dB, measured on the host", known ? std::optional<double>(outputs[0].get<double>()) : std::nullopt});
  return f;
}

Cell change(std::optional<double> before, std::optional<double> after, int decimals) {
  if (!before || !after) return figure(std::nullopt);
  Cell c = figure(*after - *before, decimals);
  if (*after > *before) c.html = "+" + c.html;
  return c;
}

std::string totals_table(const Json& before, const Json& after) {
  Table t("difference-table", "Totals, earlier and now", {{"Figure"}, {"Earlier"}, {"Now"}, {"Change"}, {"Change", "%"}}, false);
  const Figures was = totals_of(before), is = totals_of(after);
  for (size_t i = 0; i < was.size(); i++) {
    const auto a = was[i].second, b = is[i].second;
    const int decimals = was[i].first.find("dB") != std::string::npos ? 1 : 0;
    const auto part = a && b && *a != 0 && !decimals ? std::optional<double>(100 * (*b - *a) / *a) : std::nullopt;
    t.row({words(was[i].first), figure(a, decimals), figure(b, decimals), change(a, b, decimals), figure(part, 1)});
  }
  return t.html();
}

struct Compared {
  const char *key, *name;
  int decimals;
};
constexpr Compared kCompared[] = {{"constant_bytes", "Constants", 0},  {"scratch_bytes", "Scratch", 0},
                                  {"live_bytes", "Memory at once", 0}, {"instructions", "Instructions", 0},
                                  {"est_cycles", "Cycles", 0},         {"sqnr_db", "SQNR", 1}};

std::string steps_table(const Json& before, const Json& after) {
  std::vector<Column> columns = {{"Node"}, {"What changed"}};
  for (const Compared& c : kCompared)
    columns.push_back({c.name, std::string("change, ") + (c.decimals        ? "dB"
                                                          : c.key[0] == 'i' ? "count"
                                                          : c.key[0] == 'e' ? "estimated"
                                                                            : "bytes")});
  Table t("difference-steps", "Steps that changed", columns);
  std::map<std::string, const Json*> known;
  for (const Json& step : list_of(before, "steps")) known[text_of(step, "node")] = &step;
  const auto alone = [&](const Json& step, const char* what) {
    t.row({code(text_of(step, "node")), words(std::string(what) + ": " + text_of(step, "kernel"))});
  };
  for (const Json& step : list_of(after, "steps")) {
    const auto it = known.find(text_of(step, "node"));
    if (it == known.end()) {
      alone(step, "new");
      continue;
    }
    const Json& was = *it->second;
    known.erase(it);
    const std::string old_kernel = text_of(was, "kernel"), new_kernel = text_of(step, "kernel");
    bool differs = old_kernel != new_kernel;
    std::vector<Cell> cells = {code(text_of(step, "node")), words(differs ? old_kernel + " \u2192 " + new_kernel : "figures")};
    for (const Compared& c : kCompared) {
      const auto a = number_of(was, c.key), b = number_of(step, c.key);
      differs = differs || (a && b && *a != *b);
      cells.push_back(change(a, b, c.decimals));
    }
    if (differs) t.row(cells);
  }
  for (const auto& [node, step] : known) alone(*step, "gone");
  return t.empty() ? "<p>No step changed.</p>\n" : t.html();
}

}  // namespace

std::string difference_section(const Json& report) {
  const Json& earlier = part_of(report, "earlier");
  if (earlier.is_null())
    return missing("Unavailable: no earlier report was given (<code>corten report DIR --against OLD/report.json</code>).");
  std::string s = fmt::format("<p>Against <code>{}</code>: <code>{}</code> for {}.</p>\n", escaped(text_of(earlier, "file")),
                              escaped(text_of(earlier, "model")), escaped(text_of(earlier, "target")));
  return s + totals_table(earlier, report) + steps_table(earlier, report);
}

}  // namespace corten
