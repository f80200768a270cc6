// report.json and report.html: what is in them, that they hold together, and that hostile text stays text.
#include <doctest/doctest.h>

#include "compiler/html.h"
#include "compiler/report.h"
#include "compiler/report_html.h"
#include "compiler/report_sections.h"
#include "ir/diag.h"

using namespace corten;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>&\"'<!--\u2028";

Json step(const std::string& node, const std::string& kernel, double macs) {
  return {{"node", node},          {"op", "conv2d"},
          {"kernel", kernel},      {"kernel_tier", "mve"},
          {"shape", {1, 4, 4, 8}}, {"macs", macs},
          {"constant_bytes", 100}, {"scratch_bytes", 0},
          {"live_bytes", 300},     {"where", {{"file", "model.py"}, {"line", 7}, {"text", "self.conv(x)"}, {"module", "conv"}}}};
}

Json small_report() {
  Json j = {{"corten_report", 1},     {"model", "m.pt2"}, {"name", "m"},
            {"target", "cortex-m55"}, {"tier", "mve"},    {"image_bytes", 1000}};
  j["arena"] = {{"bytes", 400}, {"peak_step", 1}, {"lower_bound", 304}, {"lower_bound_step", 0}};
  j["tensors"] = {{{"name", "x"}, {"kind", "input"}, {"offset", 0}, {"bytes", 100}, {"first_step", -1}, {"last_step", 0}},
                  {{"name", "a"}, {"kind", "value"}, {"offset", 112}, {"bytes", 128}, {"first_step", 0}, {"last_step", 1}},
                  {{"name", "y"}, {"kind", "output"}, {"offset", 0}, {"bytes", 10}, {"first_step", 1}, {"last_step", 2}}};
  j["steps"] = {step("conv", "conv2d_s8_mve", 1000), step("fc", "linear_s8_mve", 200)};
  j["steps"][1]["scratch_bytes"] = 64, j["steps"][1]["scratch_offset"] = 336;
  return j;
}

Json small_bench() {
  return {{"target", "cortex-m55"},
          {"image_bytes", 1000},
          {"instructions", 5000},
          {"est_cycles", 6000},
          {"code_bytes", 4000},
          {"stack_bytes", 300},
          {"state_bytes", 96},
          {"steps",
           {{{"node", "conv"}, {"kernel", "conv2d_s8_mve"}, {"instructions", 1000}, {"est_cycles", 1200}},
            {{"node", "fc"}, {"kernel", "linear_s8_mve"}, {"instructions", 3900}, {"est_cycles", 4700}}}}};
}

Json full_comparison() {
  const Json stages = {{"fake_quant", {{"sqnr_db", 31.0}, {"max_error", 0.5}, {"saturated", 0.0}, {"range_used", 0.75}}},
                       {"host", {{"sqnr_db", 20.5}, {"max_error", 0.25}, {"saturated", 0.02}, {"range_used", 0.5}}},
                       {"board", {{"sqnr_db", 20.25}, {"max_error", 0.25}, {"saturated", 0.02}, {"range_used", 0.5}}}};
  Json c = {{"samples", 3}, {"output_sqnr_db", {30.0, nullptr}}, {"top1_same", 1}, {"ranked_samples", 2}};
  c["outputs"] = {{{"stages", stages}}};
  c["metrics"] = {{"top1", {{"float", 0.5}, {"host", 1}}}, {"confusion", {{"float", {{1, 0}, {0, 2}}}}}};
  c["board"] = {{"source", "uart.log"}, {"samples", 2}, {"tensors", 5}, {"equal", false}};
  c["board"]["first_difference"] = {{"inference", 1}, {"tensor", "step 1 (fc)"}, {"index", 7}, {"host", 3}, {"board", -4}};
  c["inputs"] = {{{"node", "x"}, {"alone_db", 50.0}, {"noise", 0.125}}};
  c["steps"] = {{{"node", "conv"},
                 {"kernel", "conv2d_s8_mve"},
                 {"sqnr_db", 20.5},
                 {"saturated", 0.02},
                 {"stages", stages},
                 {"alone_db", 28.0},
                 {"noise", 0.875},
                 {"advice", {"more data"}}}};
  return c;
}

bool has(const std::string& html, const std::string& part) { return html.find(part) != std::string::npos; }

size_t count(const std::string& s, const std::string& part) {
  size_t n = 0;
  for (size_t at = s.find(part); at != std::string::npos; at = s.find(part, at + 1)) n++;
  return n;
}

// Every text of a report, made hostile.
void poison(Json& j) {
  if (j.is_string()) j = j.get<std::string>() + kHostile;
  if (j.is_structured())
    for (Json& part : j) poison(part);
}

}  // namespace

TEST_CASE("report: text is escaped") {
  CHECK(escaped("<a href=\"x\">'&") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
  CHECK(escaped(std::string_view("a\0b\x1b", 4)) == "a b ");
  CHECK(json_in_script("</script>&") == "\"\\u003c/script\\u003e\\u0026\"");
  CHECK(json_in_script("\xff<") == "\"\\ufffd\\u003c\"");
  CHECK(Json::parse(json_in_script(kHostile)) == kHostile);
}

TEST_CASE("report: numbers are grouped") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567.25, 1) == "1,234,567.2");
  CHECK(grouped(-1234) == "\u22121,234");
  CHECK(grouped(-0.01, 1) == "0.0");
  CHECK(has(grouped(std::optional<double>()), "unavailable"));
}

TEST_CASE("report: the page says what is unavailable, and why") {
  const std::string html = report_html(small_report());
  CHECK(has(html, "Instructions and cycles are unavailable: no bench was given"));
  CHECK(has(html, "Unavailable: no comparison was given"));
  CHECK(has(html, "Unavailable: no earlier report was given"));
  CHECK(has(html, "Left out: code of runtime and kernels. Unavailable"));
  CHECK(!has(html, "http://"));
  CHECK(!has(html, "https://"));
  CHECK(has(html, "id=\"step-1\""));
  CHECK(has(html, "x: 100 bytes at offset 0, before the first step to step 0"));
  CHECK(has(html, "scratch of fc: 64 bytes at offset 336, step 1, model.py:7 self.conv(x)"));
  CHECK(count(html, "class=\"block ") == 4);
}

TEST_CASE("report: hostile names stay text") {
  Json report = small_report();
  merge_bench(report, small_bench(), "b.json");
  merge_earlier(report, small_report(), "old.json");
  const std::string before = report_html(report);
  poison(report);
  const std::string html = report_html(report);
  CHECK(!has(html, "<img"));
  CHECK(count(html, "</script") == count(before, "</script"));
  CHECK(count(html, "<!--") == 0);
  const size_t from = html.find("id=\"report\">") + 12, to = html.find("</script>", from);
  CHECK(Json::parse(html.substr(from, to - from)) == report);
}

TEST_CASE("report: any field may be missing or of another type") {
  Json whole = small_report();
  merge_bench(whole, small_bench(), "b.json");
  merge_earlier(whole, small_report(), "old.json");
  whole["comparison"] = full_comparison();
  whole["steps"][0].update(full_comparison()["steps"][0]);
  const Json flat = whole.flatten();
  for (const auto& [path, value] : flat.items())
    for (const Json& other : {Json(), Json("text"), Json(-1e300), Json(Json::array({1, "x"})), Json(Json::object({{"a", 1}}))}) {
      Json changed = whole;
      changed[Json::json_pointer(path)] = other;
      CHECK(has(report_html(changed), "</html>"));
    }
  for (const Json& nothing : {Json(), Json(Json::object()), Json(Json::array()), Json(1)})
    CHECK(has(report_html(nothing), "</html>"));
}

TEST_CASE("report: a bench is put in, and refused where it is of another image") {
  Json report = small_report();
  merge_bench(report, small_bench(), "b.json");
  CHECK(report["bench"]["instructions"] == 5000);
  CHECK(report["steps"][1]["est_cycles"] == 4700);
  const std::string html = report_html(report);
  CHECK(has(html, "Cycles"));
  CHECK(has(html, "4,700"));
  CHECK(has(html, "runtime state"));
  for (const char* field : {"target", "image_bytes", "steps"}) {
    Json bench = small_bench();
    bench[field] = field == std::string("steps") ? Json(Json::array({1})) : Json("other");
    CHECK_THROWS_AS(merge_bench(report, bench, "b.json"), Error);
  }
  Json bench = small_bench();
  bench["steps"][0]["kernel"] = "another";
  CHECK_THROWS_AS(merge_bench(report, bench, "b.json"), Error);
  CHECK_THROWS_AS(merge_bench(report, Json(1), "b.json"), Error);
}

TEST_CASE("report: a comparison is put in") {
  Json report = small_report();
  const Json comparison = {{"samples", 5},
                           {"output_sqnr_db", {33.3}},
                           {"top1_same", 1.0},
                           {"steps", {{{"node", "fc"}, {"kernel", "linear_s8_mve"}, {"sqnr_db", 31.5}, {"saturated", 0.25}}}}};
  merge_comparison(report, comparison, "c.json");
  CHECK(report["steps"][1]["sqnr_db"] == 31.5);
  CHECK(!report["steps"][0].contains("sqnr_db"));
  CHECK(has(report_html(report), "25.0 % of its values lie outside the int8 range"));
  Json other = comparison;
  other["steps"][0]["node"] = "nobody";
  CHECK_THROWS_AS(merge_comparison(report, other, "c.json"), Error);
  CHECK_THROWS_AS(merge_comparison(report, Json::object(), "c.json"), Error);
}

TEST_CASE("report: stages, costs and a board's difference are shown") {
  Json report = small_report();
  CHECK(!has(accuracy_section(report), "Fake-quantised"));
  merge_comparison(report, full_comparison(), "c.json");
  CHECK(report["steps"][0]["stages"]["board"]["sqnr_db"] == 20.25);
  CHECK(report["comparison"]["metrics"]["top1"]["host"] == 1);
  const std::string html = accuracy_section(report);
  for (const char* text : {"Fake-quantised", "Board SQNR", "20.2", "87.5", "more data", "12.5 %", "Confusion matrix", "top1",
                           "<b>Not equal to the host</b>: first in inference 1, step 1 (fc), element 7: host 3, board \u22124."})
    CHECK(has(html, text));
  CHECK(has(advice_section(report), "Makes 88 % of the outputs&#39; noise: more data."));
}

TEST_CASE("report: advice has facts only") {
  Json report = small_report();
  std::vector<Advice> advice = advice_on(report);
  REQUIRE(advice.size() == 2);
  CHECK(advice[0].steps == std::vector<int>{0});
  CHECK(advice[0].bytes == 304);
  CHECK(has(advice[0].text, "a (128 bytes), x (100 bytes)"));
  CHECK(advice[1].bytes == 96);
  report["steps"][0]["kernel"] = "conv2d_s8_scalar", report["steps"][0]["kernel_tier"] = "scalar";
  report["steps"][0]["skipped_rows"] = {{{"kernel", "conv2d_s8_mve"}, {"tier", "mve"}, {"condition", "p.groups == 1"}}};
  const Json unmet = {{"condition", "p.groups == 1"}, {"needs", "one group"}, {"actual", "groups 4"}};
  report["steps"][0]["skipped_rows"][0]["unmet"] = Json::array({unmet});
  Json bench = small_bench();
  bench["steps"][0]["kernel"] = "conv2d_s8_scalar";
  merge_bench(report, bench, "b.json");
  advice = advice_on(report);
  REQUIRE(advice.size() == 4);
  CHECK(has(advice[3].text, "conv2d_s8_mve needs one group (here: groups 4)"));
  CHECK(advice[3].cycles == 1200);
  CHECK(has(advice[2].text, "multiply-accumulate"));
  CHECK(advice[2].steps == std::vector<int>{1});
}

TEST_CASE("report: the difference lists what changed") {
  Json report = small_report(), earlier = small_report();
  earlier["image_bytes"] = 1100, earlier["steps"][0]["kernel"] = "conv2d_s8_scalar", earlier["steps"][1]["node"] = "old_fc";
  merge_earlier(report, earlier, "old.json");
  const std::string html = difference_section(report);
  CHECK(has(html, "\u2212100"));
  CHECK(has(html, "conv2d_s8_scalar \u2192 conv2d_s8_mve"));
  CHECK(has(html, "new: linear_s8_mve"));
  CHECK(has(html, "gone: linear_s8_mve"));
  CHECK_THROWS_AS(merge_earlier(report, Json::object(), "old.json"), Error);
}
