#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "compiler/emit.h"
#include "compiler/files.h"
#include "compiler/pipeline.h"
#include "compiler/report.h"
#include "compiler/report_html.h"
#include "compiler/target.h"

namespace corten::cli {

namespace {

struct Options {
  std::string model, target = "cortex-m55", calibrate, output, observer = "auto", optimize = "balanced";
  std::vector<std::string> dump;
  bool float_io = false, keep_inputs = false, json = false;
};

const std::vector<std::string> kPasses = {"import", "legalize", "fuse", "quantize", "prune", "float_io", "layout"};

// Shown once calibration has taken a second.
void progress_bar(int64_t done, int64_t all) {
  static const auto start = std::chrono::steady_clock::now();
  static int64_t shown = -1;
  if (shown < 0 && std::chrono::steady_clock::now() - start < std::chrono::seconds(1)) return;
  const int64_t percent = done * 100 / all;
  if (percent == shown) return;
  shown = percent;
  fmt::print(stderr, "\rcalibrating {:3d} %{}", percent, done == all ? "\r                 \r" : "");
  std::fflush(stderr);
}

void summary(const Compiled& c, const std::string& dir, const std::string& calibrate) {
  const Planned& p = c.planned;
  fmt::print("{} for {} ({} kernels): {} steps\n", p.name, p.target, to_text(p.tier), p.steps.size());
  if (c.samples) fmt::print("  calibrated    {} samples of {}, {} ranges\n", c.samples, calibrate, observer_name(c.observer));
  fmt::print("  image         {} bytes\n", c.image.size());
  fmt::print("  arena         {} bytes, scratch included; lower bound {} ({})\n", p.arena_bytes, p.lower_bound,
             p.steps.empty() ? "no steps" : "step " + std::to_string(p.bound_step) + ", " + p.steps[size_t(p.bound_step)].node);
  for (const Diag& d : c.notes) fmt::print("{}\n", to_text(d));
  fmt::print("  written       {}/model.corten model.h model.cc report.json report.html\n", dir);
}

void run(const Options& o) {
  CompileOptions c;
  c.model = o.model, c.target = o.target, c.calibrate = o.calibrate;
  c.plan.keep_inputs = o.keep_inputs, c.plan.float_io = o.float_io;
  const std::map<std::string, Goal> goals = {
      {"balanced", Goal::balanced}, {"speed", Goal::speed}, {"ram", Goal::ram}, {"size", Goal::size}};
  c.goal = goals.at(o.optimize);
  if (o.observer != "auto") c.observer = o.observer == "mse" ? Observer::mse : Observer::minmax;
  if (!o.dump.empty())
    c.after_pass = [&](const std::string& pass, const Graph& g) {
      if (std::find(o.dump.begin(), o.dump.end(), pass) != o.dump.end()) fmt::print("// after {}\n{}\n", pass, print(g));
    };
  if (isatty(2)) c.progress = progress_bar;
  const Compiled compiled = compile(c);
  const std::string dir = o.output.empty() ? "build/" + compiled.planned.name : o.output;
  const nlohmann::ordered_json figures = report_json(compiled, c);
  const std::string report = report_text(figures);
  write_files(dir, {{"model.corten", std::string(compiled.image.begin(), compiled.image.end())},
                    {"model.h", emit_header(compiled.image)},
                    {"model.cc", emit_source(compiled.image)},
                    {"report.json", report},
                    {"report.html", report_html(figures)}});
  if (o.json)
    fmt::print("{}", report);
  else if (o.dump.empty())
    summary(compiled, dir, o.calibrate);
}

}  // namespace

void add_compile(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("compile", "compile a .pt2 to a program image and a firmware unit");
  c->add_option("model", o->model, "the exported program, as torch.export.save wrote it")->required();
  c->add_option("-t,--target", o->target, "the core (`corten targets` lists them)")->capture_default_str();
  c->add_option("-c,--calibrate", o->calibrate,
                "representative inputs: .npz (in0, in1, ... or the inputs' names; samples first) or .npy");
  c->add_option("-o,--output", o->output, "folder to write (default: build/MODEL)");
  c->add_option("--optimize", o->optimize,
                "what to favour: balanced, speed (may spend flash), ram (may cost cycles) or size (smaller code)")
      ->check(CLI::IsMember({"balanced", "speed", "ram", "size"}))
      ->capture_default_str();
  c->add_option("--observer", o->observer, "how ranges are chosen: minmax, mse, or auto (lower output error)")
      ->check(CLI::IsMember({"auto", "minmax", "mse"}))
      ->capture_default_str();
  c->add_option("--dump", o->dump, "print the graph after a pass: import legalize fuse quantize prune float_io layout")
      ->check(CLI::IsMember(kPasses));
  c->add_flag("--float-io", o->float_io, "inputs and outputs are float32 on the core");
  c->add_flag("--keep-inputs", o->keep_inputs, "inputs keep their bytes during inference");
  c->add_flag("--json", o->json, "print the report as JSON");
  c->footer("Example:\n  corten compile kws.pt2 --target cortex-m4 --calibrate calib.npz -o build/kws");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
