#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/samples.h"
#include "compiler/board.h"
#include "compiler/compare.h"
#include "compiler/files.h"
#include "compiler/json.h"
#include "compiler/metrics.h"
#include "ir/render.h"

namespace corten::cli {

namespace {

struct Options {
  std::string model, image, data, quantised, board, rank = "auto";
  std::vector<std::string> metrics;
  bool json = false;
};

std::string cell(const std::optional<double>& v, int width, int decimals, const char* unit = "") {
  return v ? fmt::format("{:>{}.{}f}{}", *v, width, decimals, unit) : fmt::format("{:>{}}{}", "-", width, unit[0] ? " " : "");
}

std::optional<double> sqnr(const StageErrors& e, Stage stage) {
  return e[size_t(stage)] ? std::optional<double>(e[size_t(stage)]->sqnr_db) : std::nullopt;
}

std::optional<double> percent(std::optional<double> part) { return part ? std::optional<double>(100 * *part) : part; }

std::string source(const Location& w) { return w.line ? fmt::format("{}:{} {}", relative_path(w.file), w.line, w.text) : ""; }

void step_table(const Comparison& c) {
  if (c.steps.empty()) return;
  fmt::print("SQNR in dB: fake-quantised, int8 on the host, on the board; figures behind them are the host's\n");
  fmt::print("{:>10} {:>8} {:>8} {:>9} {:>10} {:>5} {:>7}  {:<28} {:<12} {}\n", "fake-quant", "host", "board", "max error",
             "saturated", "codes", "cost", "node", "op", "source");
  for (const StepError& e : c.steps) {
    const StageError& host = *e.stages[size_t(Stage::host)];
    fmt::print("{} {} {} {:>9.3g} {} {} {}  {:<28} {:<12} {}\n", cell(sqnr(e.stages, Stage::fake_quant), 10, 1),
               cell(sqnr(e.stages, Stage::host), 8, 1), cell(sqnr(e.stages, Stage::board), 8, 1), host.max_error,
               cell(percent(host.saturated), 9, 3, "%"),
               cell(host.range_used ? std::optional(256 * *host.range_used) : std::nullopt, 5, 0),
               cell(percent(e.noise), 6, 1, "%"), e.node, e.op, source(e.where));
  }
}

void ranking(const Comparison& c) {
  if (!c.ranked_samples) return;
  std::vector<const StepError*> order;
  for (const auto* all : {&c.steps, &c.input_cost})
    for (const StepError& e : *all)
      if (e.alone_db) order.push_back(&e);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return *a->noise > *b->noise; });
  if (order.size() > 5) order.resize(5);
  fmt::print("\nwhat costs most: SQNR of the outputs with this alone quantised, its part of the noise ({} samples)\n",
             c.ranked_samples);
  for (const StepError* e : order) {
    fmt::print("{:>8.1f} dB {:>5.1f} %  {}\n", *e->alone_db, 100 * *e->noise, e->node);
    for (const std::string& help : e->advice) fmt::print("{:>21}{}\n", "", help);
  }
}

void board(const Comparison& c) {
  if (!c.board) return;
  fmt::print("board      {}: {} samples, {} tensors, ", c.board->source, c.board->samples, c.board->tensors);
  if (const auto& d = c.board->first_difference)
    fmt::print("NOT equal to the host: first in inference {}, {}, element {} (device order): host {}, board {}\n", d->inference,
               d->tensor, d->index, d->host, d->board);
  else
    fmt::print("equal to the host, byte for byte\n");
}

void metrics(const Comparison& c) {
  for (const auto& [name, stages] : c.metrics.items()) {
    if (stages.begin()->is_number()) {
      fmt::print("{:<10}", name);
      for (const auto& [stage, value] : stages.items()) fmt::print(" {:>10.6g} {}", value.get<double>(), stage);
      fmt::print("\n");
      continue;
    }
    for (const auto& [stage, rows] : stages.items()) {
      fmt::print("{} {}: a row for each label, a column for each prediction\n", name, stage);
      for (const auto& row : rows) {
        for (const auto& count : row) fmt::print("{:>7}", count.get<int64_t>());
        fmt::print("\n");
      }
    }
  }
}

void table(const Comparison& c) {
  step_table(c);
  ranking(c);
  fmt::print("\n{} samples against float32\n", c.samples);
  for (size_t i = 0; i < c.outputs.size(); i++)
    fmt::print("out{} SQNR  {:.1f} dB on the host{}\n", i, sqnr(c.outputs[i], Stage::host).value_or(0),
               c.outputs[i][0] ? fmt::format(", {:.1f} dB fake-quantised", c.outputs[i][0]->sqnr_db) : "");
  if (!c.no_fake_quant.empty()) fmt::print("fake_quant unavailable: {}\n", c.no_fake_quant);
  board(c);
  fmt::print("same top-1 {:.2f} %\n", 100 * c.top1_same);
  if (c.labelled && !c.metrics.contains("top1"))
    fmt::print("top-1      {:.2f} % float32, {:.2f} % int8\n", 100 * c.top1_float, 100 * c.top1_int8);
  metrics(c);
}

void run(const Options& o) {
  const Program program = Program::load(o.image);
  const Samples samples = read_samples(o.data, program);
  const auto beside = std::filesystem::path(o.image).parent_path() / "report.json";
  nlohmann::ordered_json report;
  if (std::filesystem::exists(beside)) {
    report = parsed_json(read_file(beside.string()));
  }
  if (!report.is_object()) {
    Diag d(Code::no_report, "no report.json beside the image: outputs only, no layers",
           "keep the files together that were compiled");
    d.severity = Severity::warning, d.subject = o.image;
    tell(d);
  }
  CompareOptions options;
  options.quantised = o.quantised;
  if (!o.metrics.empty()) options.metrics = o.metrics;
  if (o.rank != "auto") options.rank = o.rank == "yes";
  if (!o.board.empty())
    options.board = std::make_shared<BoardDump>(o.board == "qemu" ? trace_on_board(program, samples) : read_dump(o.board, program));
  const Comparison c = compare(o.model, program, samples, report, options);
  if (o.json)
    fmt::print("{}", json_text(to_json(c)));
  else
    table(c);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c =
      app.add_subcommand("compare", "float32, fake-quantised, host and board side by side: per layer, accuracy, what costs most");
  c->add_option("model", o->model, "the .pt2 that the image was compiled from, or the float model that this was quantised from")
      ->type_name("FILE")
      ->required();
  c->add_option("image", o->image, "model.corten; its report.json beside it says which layer is which")
      ->type_name("FILE")
      ->required();
  c->add_option("-d,--data", o->data, "inputs, and `labels` if known: .npz or .npy")->type_name("FILE")->required();
  c->add_option("--metrics", o->metrics,
                fmt::format("of each stage's first output: {} (default: top1 with labels, auc for one score)",
                            fmt::join(metric_names(), ", ")))
      ->delimiter(',');
  c->add_option("--board", o->board,
                "values from a board: a log, a .npz of `corten decode`, or qemu (the first 16 samples); "
                "inference 0 is the data's first sample");
  c->add_option("--quantised", o->quantised,
                "where `model` is the float original: the .pt2 that was compiled (default: as report.json says)");
  c->add_option("--rank", o->rank, "quantise each layer alone to see what it costs: yes, no, or auto (if that is cheap)")
      ->check(CLI::IsMember({"yes", "no", "auto"}))
      ->capture_default_str();
  c->add_flag("--json", o->json, "print JSON");
  c->footer(
      "Examples:\n  corten compare kws.pt2 build/kws/model.corten --data eval.npz\n"
      "  corten compare kws.pt2 build/kws/model.corten --data eval.npz --metrics top1,confusion --board qemu");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
