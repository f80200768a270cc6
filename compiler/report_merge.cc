// Figures of a bench, of a comparison and of an earlier report, put into a report.
#include <algorithm>

#include "compiler/report.h"
#include "compiler/report_fields.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kBenchAgain = "measure this image: `corten bench DIR/model.corten --json > bench.json`";
constexpr const char* kCompareAgain =
    "compare this image: `corten compare MODEL.pt2 DIR/model.corten --data DATA --json > compare.json`";

void copy(Json& to, const Json& from, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (from.contains(key)) to[key] = from[key];
}

}  // namespace

bool is_report(const Json& j) {
  if (number_of(j, "corten_report") != kReportVersion || !j.contains("steps") || !j["steps"].is_array()) return false;
  return std::all_of(j["steps"].begin(), j["steps"].end(), [](const Json& s) { return s.is_object(); });
}

void merge_bench(Json& report, const Json& bench, const std::string& file) {
  const Json& measured = list_of(bench, "steps");
  if (measured.empty() || !number_of(bench, "instructions"))
    fail_file(file, Code::bad_report, "is not the output of `corten bench --json`", kBenchAgain);
  Json& steps = report["steps"];
  if (text_of(bench, "target") != text_of(report, "target"))
    fail_file(file, Code::mismatch,
              "was measured on " + text_of(bench, "target") + ", the report is of " + text_of(report, "target"), kBenchAgain);
  if (measured.size() != steps.size())
    fail_file(file, Code::mismatch, "has " + std::to_string(measured.size()) + " steps, the report " + std::to_string(steps.size()),
              kBenchAgain);
  for (size_t i = 0; i < steps.size(); i++)
    for (const char* key : {"node", "kernel"})
      if (text_of(measured[i], key) != text_of(steps[i], key))
        fail_file(file, Code::mismatch,
                  "step " + std::to_string(i) + " is " + text_of(measured[i], key) + ", in the report " + text_of(steps[i], key),
                  kBenchAgain);
  if (number_of(bench, "image_bytes") != number_of(report, "image_bytes"))
    fail_file(file, Code::mismatch, "was measured with an image of another size", kBenchAgain);
  Json totals = {{"file", file}};
  copy(totals, bench, {"instructions", "est_cycles", "code_bytes", "stack_bytes", "init_stack_bytes", "state_bytes", "flash"});
  for (size_t i = 0; i < steps.size(); i++) copy(steps[i], measured[i], {"instructions", "est_cycles"});
  report["bench"] = totals;  // last: a new field moves all others, `steps` is gone
}

void merge_comparison(Json& report, const Json& comparison, const std::string& file) {
  if (!comparison.is_object() || !comparison.contains("output_sqnr_db"))
    fail_file(file, Code::bad_report, "is not the output of `corten compare --json`", kCompareAgain);
  Json& steps = report["steps"];
  size_t at = 0;
  // The compared steps are some of the report's, in their order.
  for (const Json& compared : list_of(comparison, "steps")) {
    const auto is_it = [&](const Json& s) {
      return text_of(s, "node") == text_of(compared, "node") && text_of(s, "kernel") == text_of(compared, "kernel");
    };
    while (at < steps.size() && !is_it(steps[at])) at++;
    if (at == steps.size())
      fail_file(file, Code::mismatch, "has a step that is not in the report: " + text_of(compared, "node"), kCompareAgain);
    copy(steps[at], compared, {"sqnr_db", "saturated", "stages", "alone_db", "noise", "advice"});
  }
  Json totals = {{"file", file}};
  copy(totals, comparison,
       {"samples", "output_sqnr_db", "outputs", "top1_float", "top1_int8", "top1_same", "metrics", "no_fake_quant", "board",
        "ranked_samples", "inputs"});
  report["comparison"] = totals;  // last, as above
}

void merge_earlier(Json& report, const Json& earlier, const std::string& file) {
  if (!is_report(earlier))
    fail_file(file, Code::bad_report, "is not a report.json of this version of corten", "compile the earlier model again");
  Json extract = {{"file", file}};
  copy(extract, earlier, {"model", "name", "target", "image_bytes", "arena", "bench", "comparison"});
  extract["steps"] = Json::array();
  for (const Json& step : list_of(earlier, "steps")) {
    Json s = Json::object();
    copy(
        s, step,
        {"node", "op", "kernel", "macs", "constant_bytes", "scratch_bytes", "live_bytes", "instructions", "est_cycles", "sqnr_db"});
    extract["steps"].push_back(s);
  }
  report["earlier"] = extract;
}

}  // namespace corten
