#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "compiler/budget.h"
#include "compiler/emit.h"
#include "compiler/files.h"
#include "compiler/json.h"
#include "compiler/pipeline.h"
#include "compiler/report.h"
#include "compiler/report_html.h"
#include "compiler/target.h"

namespace corten::cli {

namespace {

struct Options {
  std::string model, target = "cortex-m55", calibrate, output, observer = "auto", optimize = "balanced";
  std::vector<std::string> dump;
  Budget budget;
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

constexpr uint64_t kKiB = 1024;
constexpr int kBarWidth = 20;

// "########............  41 % of 64 KiB": of the limit, else of the next memory that chips come with.
std::string bar(uint64_t bytes, std::optional<uint64_t> limit, const Style& style) {
  uint64_t whole = limit.value_or(kKiB);
  while (!limit && whole < bytes) whole *= 2;
  const double share = whole ? std::min(1.0, double(bytes) / double(whole)) : 1.0;
  const int filled = int(std::lround(share * kBarWidth));
  std::string s;
  for (int i = 0; i < kBarWidth; i++) s += i < filled ? (style.utf8 ? "\u2588" : "#") : (style.utf8 ? "\u2591" : ".");
  const std::string of = whole % kKiB ? grouped_digits(whole) + " bytes" : grouped_digits(whole / kKiB) + " KiB";
  return fmt::format("  {} {:3.0f} % of {}", s, 100 * share, of);
}

void summary(const Compiled& c, const Options& o, const std::string& dir) {
  const Planned& p = c.planned;
  const Style style = style_of(1);
  const bool bars = isatty(1);
  std::string samples;
  if (c.samples)
    samples = fmt::format("{} samples of {}, {} ranges", c.samples, relative_path(o.calibrate), observer_name(c.observer));
  std::string bound;
  if (!p.steps.empty()) bound = fmt::format(", step {} ({})", p.bound_step, p.steps[size_t(p.bound_step)].node);
  const std::string image = grouped_digits(c.image.size()), arena = grouped_digits(p.arena_bytes),
                    least = grouped_digits(p.lower_bound);
  const size_t width = std::max({image.size(), arena.size(), least.size()});
  const auto row = [&](const char* what, const std::string& text) {
    fmt::print("  {:<12}{}\n", what, printable(text, style.utf8));
  };
  const auto bytes = [&](const std::string& n) { return fmt::format("{:>{}} bytes", n, width); };
  fmt::print("{} for {} ({} kernels): {} steps\n", p.name, p.target, to_text(p.tier), p.steps.size());
  if (c.samples) row("calibrated", samples);
  row("image", bytes(image) + (bars ? bar(c.image.size(), o.budget.flash, style) : ""));
  row("arena", bytes(arena) + (bars ? bar(p.arena_bytes, o.budget.ram, style) : "") + ", scratch included");
  row("lower bound", bytes(least) + bound);
  if (const size_t warnings = warnings_told()) row("warnings", std::to_string(warnings));
  row("written", relative_path(dir) + "/: model.corten model.h model.cc report.json report.html");
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
  tell(compiled.notes);
  const nlohmann::ordered_json figures = report_json(compiled, c);
  check_budget(figures, compiled.image, o.budget);
  const std::string report = json_text(figures);
  write_files(dir, {{"model.corten", std::string(compiled.image.begin(), compiled.image.end())},
                    {"model.h", emit_header(compiled.image)},
                    {"model.cc", emit_source(compiled.image)},
                    {"report.json", report},
                    {"report.html", report_html(figures)}});
  if (o.json)
    fmt::print("{}", report);
  else if (o.dump.empty())
    summary(compiled, o, dir);
}

void add_limit(CLI::App& c, const std::string& name, std::optional<uint64_t>& limit, const std::string& about) {
  const auto check = [](const std::string& text) {
    return parse_bytes(text) ? std::string() : text + " is no size: give bytes, or a number with K, KiB, M or MiB";
  };
  c.add_option_function<std::string>(
       name, [&limit](const std::string& text) { limit = parse_bytes(text); }, about)
      ->type_name("BYTES")
      ->check(check);
}

}  // namespace

void add_compile(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("compile", "compile a .pt2 to a program image and a firmware unit");
  c->add_option("model", o->model, "the exported program, as torch.export.save wrote it")->type_name("FILE")->required();
  c->add_option("-t,--target", o->target, "the core (`corten targets` lists them)")->type_name("TARGET")->capture_default_str();
  c->add_option("-c,--calibrate", o->calibrate,
                "representative inputs: .npz (in0, in1, ... or the inputs' names; samples first) or .npy")
      ->type_name("FILE");
  c->add_option("-o,--output", o->output, "folder to write (default: build/MODEL)")->type_name("DIR");
  c->add_option("--optimize", o->optimize,
                "what to favour: balanced, speed (may spend flash), ram (may cost cycles) or size (smaller code)")
      ->check(CLI::IsMember({"balanced", "speed", "ram", "size"}))
      ->capture_default_str();
  c->add_option("--observer", o->observer, "how ranges are chosen: minmax, mse, or auto (lower output error)")
      ->check(CLI::IsMember({"auto", "minmax", "mse"}))
      ->capture_default_str();
  c->add_option("--dump", o->dump, "print the graph after a pass: import legalize fuse quantize prune float_io layout")
      ->check(CLI::IsMember(kPasses));
  add_limit(*c, "--max-flash", o->budget.flash, "refuse a program whose image and code take more: 65536, 64K, 1M");
  add_limit(*c, "--max-ram", o->budget.ram, "refuse a program whose arena and runtime state take more; stack is not counted");
  c->add_flag("--float-io", o->float_io, "inputs and outputs are float32 on the core");
  c->add_flag("--keep-inputs", o->keep_inputs, "inputs keep their bytes during inference");
  c->add_flag("--json", o->json, "print the report as JSON");
  c->footer("Example:\n  corten compile kws.pt2 --target cortex-m4 --calibrate calib.npz -o build/kws");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
