// Accuracy in report.html: the stages side by side, metrics, steps ranked by what they cost.
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "compiler/html.h"
#include "compiler/report_fields.h"
#include "compiler/report_sections.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

struct StageName {
  const char *key, *title, *how;
};
constexpr StageName kStages[] = {{"fake_quant", "Fake-quantised", "computed in float32 with the program's scales"},
                                 {"host", "Host", "int8, measured on the host"},
                                 {"board", "Board", "int8, measured on the board"}};

std::string missing(const std::string& html) { return "<p class=\"missing\">" + html + "</p>\n"; }

std::string paragraph(const std::string& html) { return "<p>" + html + "</p>\n"; }

std::optional<double> percent(std::optional<double> part) { return part ? std::optional<double>(100 * *part) : std::nullopt; }

Cell decibel(std::optional<double> db) { return db && *db >= 200 ? Cell{"exact", *db, true} : figure(db, 1); }

Cell small(std::optional<double> v) { return v ? Cell{fmt::format("{:.3g}", *v), *v, true} : figure(v); }

const Json& stage_of(const Json& j, const char* stage) { return part_of(part_of(j, "stages"), stage); }

bool has_stage(const Json& report, const char* stage) {
  const Json& outputs = list_of(part_of(report, "comparison"), "outputs");
  return std::any_of(outputs.begin(), outputs.end(), [&](const Json& o) { return !stage_of(o, stage).is_null(); });
}

// ---- outputs and metrics ----------------------------------------------------------------------------------------------------

// A row of one figure in all stages; no unit: a metric.
std::vector<Cell> stage_row(const std::string& name, const char* unit, Cell float_value,
                            const std::function<Cell(const char* stage)>& value) {
  std::vector<Cell> cells = {words(*unit ? fmt::format("{} ({})", name, unit) : name), std::move(float_value)};
  for (const StageName& s : kStages) cells.push_back(value(s.key));
  return cells;
}

std::string output_table(const Json& comparison) {
  std::vector<Column> columns = {{"Figure"}, {"Float", "float32, the reference"}};
  for (const StageName& s : kStages) columns.push_back({s.title, s.how});
  if (const auto sent = number_of(part_of(comparison, "board"), "samples"))
    columns.back().how += fmt::format(", {} samples", grouped(*sent));
  Table t("output-table", "Outputs in each stage", columns, false);
  int index = 0;
  for (const Json& output : list_of(comparison, "outputs")) {
    const auto row = [&](const char* name, const char* unit, const auto& cell) {
      t.row(stage_row(fmt::format("{} of output {}", name, index), unit, figure(std::optional<double>()), cell));
    };
    row("SQNR", "dB", [&](const char* s) { return decibel(number_of(stage_of(output, s), "sqnr_db")); });
    row("Largest error", "as the output", [&](const char* s) { return small(number_of(stage_of(output, s), "max_error")); });
    row("Saturated", "% of values", [&](const char* s) { return figure(percent(number_of(stage_of(output, s), "saturated")), 3); });
    row("Range used", "% of int8", [&](const char* s) { return figure(percent(number_of(stage_of(output, s), "range_used")), 1); });
    index++;
  }
  for (const auto& [name, values] : part_of(comparison, "metrics").items()) {
    const auto cell = [&](const char* stage) { return small(number_of(values, stage)); };
    if (!number_of(values, "float") && !number_of(values, "host")) continue;  // a confusion matrix
    t.row(stage_row(name, name == "top1" || name == "top5" ? "part of samples" : "", cell("float"), cell));
  }
  const auto same = percent(number_of(comparison, "top1_same"));
  t.row(stage_row("Same largest element as float", "% of samples", figure(std::optional<double>()),
                  [&](const char* s) { return figure(std::string_view(s) == "host" ? same : std::nullopt, 2); }));
  return t.html();
}

std::string confusion_table(const std::string& stage, const Json& rows, int number) {
  std::vector<Column> columns = {{"Label"}};
  for (size_t i = 0; i < rows.size(); i++) columns.push_back({std::to_string(i), "predicted"});
  Table t(fmt::format("confusion-{}", number), "Confusion matrix, samples: " + stage, columns, false);
  size_t label = 0;
  for (const Json& row : rows) {
    std::vector<Cell> cells = {words(std::to_string(label++))};
    for (size_t k = 0; k < rows.size(); k++)
      cells.push_back(row.is_array() && k < row.size() && row[k].is_number() ? figure(row[k].get<double>()) : words(""));
    t.row(cells);
  }
  return t.html();
}

constexpr size_t kMostClasses = 100;

std::string confusions(const Json& comparison) {
  std::string s;
  int number = 0;
  for (const auto& [name, stages] : part_of(comparison, "metrics").items()) {
    if (!stages.is_object()) continue;
    for (const auto& [stage, rows] : stages.items())
      if (rows.is_array())
        s += rows.size() <= kMostClasses ? confusion_table(stage, rows, number++)
                                         : missing(fmt::format("{}: {} classes, see report.json.", escaped(stage), rows.size()));
  }
  return s.empty() ? s : "<details><summary>Confusion matrices</summary>\n" + s + "</details>\n";
}

std::string board_note(const Json& board) {
  if (board.is_null())
    return missing("Board: unavailable, no values from a board were given (<code>corten compare --board</code>).");
  const std::string what = fmt::format("Board: {} samples of {}, {} tensors. ", grouped(number_of(board, "samples")),
                                       escaped(text_of(board, "source")), grouped(number_of(board, "tensors")));
  const Json& d = part_of(board, "first_difference");
  if (d.is_null()) return paragraph(what + "Equal to the host in every byte.");
  return paragraph(what + fmt::format("<b>Not equal to the host</b>: first in inference {}, {}, element {}: host {}, board {}.",
                                      grouped(number_of(d, "inference")), escaped(text_of(d, "tensor")),
                                      grouped(number_of(d, "index")), grouped(number_of(d, "host")),
                                      grouped(number_of(d, "board"))));
}

// ---- steps ------------------------------------------------------------------------------------------------------------------

Cell meter(std::optional<double> part) {
  if (!part) return words("");
  return {fmt::format("<svg class=\"meter\" viewBox=\"0 0 60 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                      "<rect class=\"part c0\" width=\"{:.1f}\" height=\"10\"/></svg>",
                      60 * std::clamp(*part, 0.0, 1.0)),
          *part};
}

Cell advice_of(const Json& step) {
  std::string html;
  for (const Json& a : list_of(step, "advice"))
    if (a.is_string()) html += (html.empty() ? "" : "<br>") + escaped(a.get<std::string>());
  return {"<span class=\"prose\">" + html + "</span>"};
}

// Steps by what they cost where that was measured, else by SQNR.
std::vector<int> ranked_steps(const Json& report, bool by_cost) {
  std::vector<std::pair<double, int>> order;
  int index = 0;
  for (const Json& step : list_of(report, "steps")) {
    const auto db = number_of(step, "sqnr_db");
    if (db) order.push_back({by_cost ? -number_of(step, "noise").value_or(-1) : *db, index});
    index++;
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> steps;
  for (const auto& [key, i] : order) steps.push_back(i);
  return steps;
}

std::string step_table(const Json& report, const std::vector<int>& order, bool by_cost) {
  std::vector<Column> columns = {{"Step"}, {"Op"}};
  if (by_cost)
    columns.insert(columns.end(),
                   {{"Cost", "% of the outputs' noise"}, {"Share"}, {"Alone", "dB of the outputs"}, {"What would help"}});
  for (const StageName& s : kStages)
    if (has_stage(report, s.key)) columns.push_back({fmt::format("{} SQNR", s.title), "dB, " + std::string(s.how)});
  columns.insert(columns.end(), {{"Largest error", "host"}, {"Saturated", "%, host"}, {"Range used", "% of int8, host"}});
  columns.push_back({"Source"});
  Table t("accuracy-table", by_cost ? "Steps by what they cost, worst first" : "Steps by SQNR, worst first", columns);
  for (int i : order) {
    const Json& step = step_at(report, i);
    const Json& host = stage_of(step, "host");
    std::vector<Cell> cells = {{step_link(report, i), double(i)}, code(text_of(step, "op"))};
    if (by_cost) {
      const auto noise = number_of(step, "noise");
      cells.insert(cells.end(), {figure(percent(noise), 1), meter(noise), decibel(number_of(step, "alone_db")), advice_of(step)});
    }
    for (const StageName& s : kStages)
      if (has_stage(report, s.key)) cells.push_back(decibel(number_of(stage_of(step, s.key), "sqnr_db")));
    cells.insert(cells.end(), {small(number_of(host, "max_error")), figure(percent(number_of(step, "saturated")), 3),
                               figure(percent(number_of(host, "range_used")), 1)});
    cells.push_back(code(source_of(part_of(step, "where"))));
    t.row(cells);
  }
  return t.html();
}

std::string input_costs(const Json& comparison) {
  std::string s;
  for (const Json& input : list_of(comparison, "inputs"))
    if (const auto noise = number_of(input, "noise"))
      s += fmt::format("{}<code>{}</code> {:.1f} %", s.empty() ? "" : ", ", escaped(text_of(input, "node")), 100 * *noise);
  return s.empty() ? s : paragraph("Rounding the inputs costs: " + s + ".");
}

}  // namespace

std::string accuracy_section(const Json& report) {
  const Json& comparison = part_of(report, "comparison");
  if (comparison.is_null())
    return missing(
        "Unavailable: no comparison was given (<code>corten compare MODEL.pt2 model.corten --data DATA --json</code>, then "
        "<code>corten report DIR --compare COMPARE.json</code>).");
  std::string s = paragraph(fmt::format("{} samples.", grouped(number_of(comparison, "samples")))) + output_table(comparison);
  s += confusions(comparison);
  if (const std::string why = text_of(comparison, "no_fake_quant"); !why.empty())
    s += missing("Fake-quantised: unavailable, " + escaped(why) + ".");
  s += board_note(part_of(comparison, "board"));
  const auto ranked = number_of(comparison, "ranked_samples");
  const std::vector<int> order = ranked_steps(report, ranked.has_value());
  if (order.empty()) return s + missing("Steps are unavailable: the comparison has outputs only.");
  s += "<p>SQNR = 20 log10(|x| / |x \u2212 y|): x of the float program, y of the step, with the errors of all steps before it. ";
  if (ranked)
    s += fmt::format(
        "Cost: the outputs' noise with this step alone quantised, in the sum of all such; measured on the host, {} "
        "samples. ",
        grouped(*ranked));
  s += "Worst first.</p>\n";
  return s + input_costs(comparison) + step_table(report, order, ranked.has_value());
}

}  // namespace corten
