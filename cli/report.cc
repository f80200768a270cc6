#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "compiler/files.h"
#include "compiler/json.h"
#include "compiler/report.h"
#include "compiler/report_html.h"

namespace corten::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Options {
  std::string dir, bench, compare, against, output;
  bool json = false;
};

Json read_json(const std::string& path) {
  Json j = parsed_json(read_file(path));
  if (j.is_discarded()) fail_file(path, Code::bad_report, "is not JSON");
  return j;
}

Json read_report(const std::string& path) {
  Json j = read_json(path);
  if (!is_report(j)) fail_file(path, Code::bad_report, "is not a report of this version of corten", "compile the model again");
  return j;
}

void run(const Options& o) {
  const std::string source = (fs::path(o.dir) / "report.json").string();
  Json report = read_report(source);
  if (!o.bench.empty()) merge_bench(report, read_json(o.bench), o.bench);
  if (!o.compare.empty()) merge_comparison(report, read_json(o.compare), o.compare);
  if (!o.against.empty()) merge_earlier(report, read_report(o.against), o.against);
  const fs::path page = o.output.empty() ? fs::path(o.dir) / "report.html" : fs::path(o.output);
  const fs::path folder = page.has_parent_path() ? page.parent_path() : fs::path(".");
  // The page first: where it cannot be written, report.json stays as it was.
  write_files(folder.string(), {{page.filename().string(), report_html(report)}});
  const bool merged = !o.bench.empty() || !o.compare.empty() || !o.against.empty();
  if (merged) write_files(o.dir, {{"report.json", json_text(report)}});
  if (o.json)
    fmt::print("{}", json_text(report));
  else
    fmt::print("written {}{}\n", page.string(), merged ? " and " + source : "");
}

}  // namespace

void add_report(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c =
      app.add_subcommand("report", "report.html of a compiled model, with measured figures put into report.json and the page");
  c->add_option("dir", o->dir, "the folder that `corten compile` wrote")->type_name("DIR")->required();
  c->add_option("--bench", o->bench, "what `corten bench --json` printed for this image: instructions, cycles, code, stack")
      ->type_name("FILE");
  c->add_option("--compare", o->compare, "what `corten compare --json` printed for this image: SQNR and accuracy")
      ->type_name("FILE");
  c->add_option("--against", o->against, "an earlier report.json to show the difference from")->type_name("FILE");
  c->add_option("-o,--output", o->output, "the page to write (default: DIR/report.html)")->type_name("FILE");
  c->add_flag("--json", o->json, "print the report as JSON");
  c->footer(
      "Example:\n  corten bench build/kws/model.corten --json > bench.json\n"
      "  corten compare kws.pt2 build/kws/model.corten --data eval.npz --json > compare.json\n"
      "  corten report build/kws --bench bench.json --compare compare.json");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
