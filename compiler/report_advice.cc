// Advice: facts of the report that are worth a look, each with its size. Nothing here is a guess at what a change would bring.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "compiler/html.h"
#include "compiler/report_fields.h"
#include "compiler/report_sections.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

bool lives_at(const Json& tensor, int step) {
  return number_of(tensor, "first_step").value_or(step + 1) <= step && step <= number_of(tensor, "last_step").value_or(step - 1);
}

// "conv2d_1 (4,096 bytes), scratch (512 bytes)": the largest first, at most four.
std::string live_names(const Json& report, int step) {
  std::vector<std::pair<double, std::string>> live;
  for (const Json& t : list_of(report, "tensors"))
    if (lives_at(t, step)) live.push_back({number_of(t, "bytes").value_or(0), text_of(t, "name")});
  const double scratch = number_of(step_at(report, step), "scratch_bytes").value_or(0);
  if (scratch > 0) live.push_back({scratch, "scratch"});
  std::stable_sort(live.begin(), live.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string s;
  for (size_t i = 0; i < live.size() && i < 4; i++)
    s += fmt::format("{}{} ({} bytes)", i ? ", " : "", live[i].second, grouped(live[i].first));
  if (live.size() > 4) s += fmt::format(" and {} more", live.size() - 4);
  return s;
}

void arena_advice(const Json& report, std::vector<Advice>& all) {
  const Json& arena = part_of(report, "arena");
  const auto bytes = number_of(arena, "bytes"), bound = number_of(arena, "lower_bound");
  const int at = int_of(arena, "lower_bound_step", -1);
  if (!bytes || !bound || *bound <= 0 || step_at(report, at).is_null()) return;
  all.push_back(
      {fmt::format("Needs the most memory at once: {} bytes. Alive there: {}; an output may lie over an operand that dies. No "
                   "plan of this order of steps needs less, so a smaller arena asks for smaller tensors at this step.",
                   grouped(*bound), live_names(report, at)),
       {at},
       *bound});
  if (*bytes > *bound)
    all.push_back(
        {fmt::format(
             "The arena is {} bytes above that lower bound: tensors that live long leave gaps. The highest byte is used here.",
             grouped(*bytes - *bound)),
         {int_of(arena, "peak_step", -1)},
         *bytes - *bound});
}

// The rows of the target's own tier that the step was refused, with their conditions.
std::string refused_rows(const Json& step, const std::string& tier, bool own_tier_only) {
  std::string s;
  for (const Json& row : list_of(step, "skipped_rows")) {
    if (own_tier_only && text_of(row, "tier") != tier) continue;
    s += fmt::format("{}{} needs {}", s.empty() ? "" : ". ", text_of(row, "kernel"), unmet_text(row));
  }
  return s;
}

bool ends_with(const std::string& s, std::string_view end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

void fallback_advice(const Json& report, const TimeFigure& time, std::vector<Advice>& all) {
  const std::string tier = text_of(report, "tier");
  int i = -1;
  for (const Json& step : list_of(report, "steps")) {
    i++;
    const std::string kernel = text_of(step, "kernel"), own = text_of(step, "kernel_tier");
    if (own.empty()) continue;
    const auto cycles = time.key ? number_of(step, time.key) : std::nullopt;
    const bool lower = own != tier, general = ends_with(kernel, "_wide") || ends_with(kernel, "_any");
    if (!lower && !general) continue;
    const std::string refused = refused_rows(step, tier, lower);
    std::string text = lower ? fmt::format("Runs {}, a {} kernel on a core that has {} instructions. ", kernel, own, tier)
                             : fmt::format("Runs {}, the general row of its tier. ", kernel);
    text += refused.empty() ? fmt::format("{} has no {} kernel.", text_of(step, "op"), tier) : "Not usable: " + refused + ".";
    all.push_back({text, {i}, {}, cycles});
  }
}

void movement_advice(const Json& report, const TimeFigure& time, std::vector<Advice>& all) {
  int i = -1;
  for (const Json& step : list_of(report, "steps")) {
    i++;
    const std::string op = text_of(step, "op");
    const Json& operands = list_of(step, "operands");
    const double bytes = operands.empty() ? 0 : number_of(operands.back(), "bytes").value_or(0);
    const auto cycles = time.key ? number_of(step, time.key) : std::nullopt;
    if (op == "transpose")
      all.push_back({fmt::format("A transpose remains: it writes {} bytes in another order.", grouped(bytes)), {i}, bytes, cycles});
    if ((op == "quantize" || op == "dequantize") && flag_of(part_of(report, "options"), "float_io"))
      all.push_back(
          {fmt::format("Float input or output: a {} step of its own. Without --float-io the core takes and gives int8.", op),
           {i},
           bytes,
           cycles});
  }
}

// Steps that take a twentieth of all time or more, at over twice the program's time per multiply-accumulate.
void time_advice(const Json& report, const TimeFigure& time, std::vector<Advice>& all) {
  double sum = 0, macs = 0;
  for (const Json& step : list_of(report, "steps")) {
    sum += number_of(step, time.key).value_or(0);
    macs += number_of(step, "macs").value_or(0);
  }
  if (sum <= 0 || macs <= 0) return;
  int i = -1;
  for (const Json& step : list_of(report, "steps")) {
    i++;
    const double own = number_of(step, time.key).value_or(0), own_macs = number_of(step, "macs").value_or(0);
    if (own < sum / 20 || own_macs <= 0 || own / own_macs < 2 * sum / macs) continue;
    all.push_back({fmt::format("Takes {:.1f} % of all {} at {:.2f} per multiply-accumulate; the whole program takes {:.2f}.",
                               100 * own / sum, time.unit, own / own_macs, sum / macs),
                   {i},
                   {},
                   own});
  }
}

void constants_advice(const Json& report, std::vector<Advice>& all) {
  const double image = number_of(report, "image_bytes").value_or(0);
  int i = -1;
  for (const Json& step : list_of(report, "steps")) {
    i++;
    const double own = number_of(step, "constant_bytes").value_or(0);
    if (image > 0 && own >= image / 4)
      all.push_back({fmt::format("Its constants are {:.0f} % of the image.", 100 * own / image), {i}, own});
  }
}

void accuracy_advice(const Json& report, std::vector<Advice>& all) {
  std::vector<std::pair<double, int>> worst;
  int i = -1;
  for (const Json& step : list_of(report, "steps")) {
    i++;
    if (const auto db = number_of(step, "sqnr_db"); db && *db < 200) worst.push_back({*db, i});
    for (const Json& help : list_of(step, "advice"))
      if (help.is_string())
        all.push_back({fmt::format("Makes {:.0f} % of the outputs' noise: {}.", 100 * number_of(step, "noise").value_or(0),
                                   help.get<std::string>()),
                       {i},
                       {},
                       {},
                       number_of(step, "alone_db")});
    const double saturated = number_of(step, "saturated").value_or(0);
    if (saturated >= 0.01)
      all.push_back({fmt::format("{:.1f} % of its values lie outside the int8 range. Was the calibration data like this data?",
                                 100 * saturated),
                     {i},
                     {},
                     {},
                     number_of(step, "sqnr_db")});
  }
  std::sort(worst.begin(), worst.end());
  for (size_t k = 0; k < worst.size() && k < 3; k++)
    all.push_back({fmt::format("{} SQNR of all steps: {:.1f} dB.",
                               k == 0   ? "Lowest"
                               : k == 1 ? "Second lowest"
                                        : "Third lowest",
                               worst[k].first),
                   {worst[k].second},
                   {},
                   {},
                   worst[k].first});
}

// Advice of the same words about several steps becomes one, with the sum of their sizes.
std::vector<Advice> merged(const std::vector<Advice>& all) {
  std::vector<Advice> out;
  for (const Advice& a : all) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Advice& b) { return a.text == b.text; });
    if (same == out.end()) {
      out.push_back(a);
      continue;
    }
    same->steps.insert(same->steps.end(), a.steps.begin(), a.steps.end());
    if (a.bytes) same->bytes = *a.bytes + same->bytes.value_or(0);
    if (a.cycles) same->cycles = *a.cycles + same->cycles.value_or(0);
    if (a.db) same->db = std::min(*a.db, same->db.value_or(*a.db));
  }
  return out;
}

// Sorts by bytes, then by cycles, then the lowest SQNR first.
std::tuple<double, double, double> importance(const Advice& a) {
  return {a.bytes.value_or(-1), a.cycles.value_or(-1), -a.db.value_or(1e9)};
}

// The first steps as links, the others counted.
Cell steps_cell(const Json& report, const std::vector<int>& steps) {
  constexpr size_t kShown = 3;
  std::string html;
  for (size_t i = 0; i < steps.size() && i < kShown; i++) html += (i ? "<br>" : "") + step_link(report, steps[i]);
  if (steps.size() > kShown) {
    html += fmt::format("<details><summary>and {} more</summary>", steps.size() - kShown);
    for (size_t i = kShown; i < steps.size(); i++) html += step_link(report, steps[i]) + "<br>";
    html += "</details>";
  }
  return {html, steps.empty() ? -1.0 : double(steps[0])};
}

}  // namespace

std::vector<Advice> advice_on(const Json& report) {
  const TimeFigure time = time_figure(report);
  std::vector<Advice> all;
  arena_advice(report, all);
  constants_advice(report, all);
  fallback_advice(report, time, all);
  movement_advice(report, time, all);
  if (time.key) time_advice(report, time, all);
  accuracy_advice(report, all);
  all = merged(all);
  std::stable_sort(all.begin(), all.end(), [](const Advice& a, const Advice& b) { return importance(a) > importance(b); });
  return all;
}

std::string advice_section(const Json& report) {
  const TimeFigure time = time_figure(report);
  std::string s =
      fmt::format("<p>Facts worth a look, with their size. Press a heading to sort by bytes, {} or dB.</p>\n", time.unit);
  if (!time.key) s += "<p class=\"missing\">Cycles are unavailable: no bench was given.</p>\n";
  if (part_of(report, "comparison").is_null()) s += "<p class=\"missing\">dB are unavailable: no comparison was given.</p>\n";
  Table t("advice-table", "Advice",
          {{"Steps"}, {"What"}, {"Bytes", "computed"}, {time.name, time.how}, {"SQNR", "dB, measured on the host"}});
  for (const Advice& a : advice_on(report)) {
    Cell what = words(a.text);
    what.html = "<span class=\"prose\">" + what.html + "</span>";
    t.row({steps_cell(report, a.steps), what, figure(a.bytes), figure(a.cycles), figure(a.db, 1)});
  }
  return s + (t.empty() ? "<p>Nothing stands out.</p>\n" : t.html());
}

}  // namespace corten
