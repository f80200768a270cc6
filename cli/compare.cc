#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/samples.h"
#include "compiler/compare.h"
#include "compiler/files.h"
#include "compiler/pipeline.h"

namespace corten::cli {

namespace {

struct Options {
  std::string model, image, data;
  bool json = false;
};

void table(const Comparison& c) {
  if (!c.steps.empty()) fmt::print("{:>9} {:>10}  {:<28} {:<12} {}\n", "SQNR dB", "saturated", "node", "op", "source");
  for (const StepError& e : c.steps)
    fmt::print("{:>9.1f} {:>9.3f}%  {:<28} {:<12} {}\n", e.sqnr_db, 100 * e.saturated, e.node, e.op,
               e.where.line ? fmt::format("{}:{} {}", e.where.file, e.where.line, e.where.text) : "");
  fmt::print("\n{} samples, float32 against int8 on the host\n", c.samples);
  for (size_t i = 0; i < c.output_sqnr_db.size(); i++) fmt::print("out{} SQNR  {:.1f} dB\n", i, c.output_sqnr_db[i]);
  fmt::print("same top-1 {:.2f} %\n", 100 * c.top1_same);
  if (c.labelled) fmt::print("top-1      {:.2f} % float32, {:.2f} % int8\n", 100 * c.top1_float, 100 * c.top1_int8);
}

void run(const Options& o) {
  const Graph real = front(o.model);
  const Program program = Program::load(o.image);
  const Samples samples = read_samples(o.data, program);
  const auto beside = std::filesystem::path(o.image).parent_path() / "report.json";
  nlohmann::ordered_json report;
  if (std::filesystem::exists(beside)) {
    const std::vector<uint8_t> text = read_file(beside.string());
    report = nlohmann::ordered_json::parse(text.begin(), text.end(), nullptr, false);
  }
  if (!report.is_object() && !o.json) fmt::print("no report.json beside {}: outputs only, no layers\n", o.image);
  const Comparison c = compare(real, program, samples, report);
  if (o.json)
    fmt::print("{}\n", to_json(c).dump(1));
  else
    table(c);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("compare", "float32 against int8 on the host: SQNR per layer and, with labels, accuracy");
  c->add_option("model", o->model, "the .pt2 that the image was compiled from")->required();
  c->add_option("image", o->image, "model.corten; its report.json beside it says which layer is which")->required();
  c->add_option("-d,--data", o->data, "inputs, and `labels` if known: .npz or .npy")->required();
  c->add_flag("--json", o->json, "print JSON");
  c->footer("Example:\n  corten compare kws.pt2 build/kws/model.corten --data eval.npz");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
