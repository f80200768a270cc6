#include "compiler/pipeline.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "compiler/calibrate.h"
#include "compiler/emit.h"
#include "compiler/evaluate.h"
#include "compiler/float_io.h"
#include "compiler/import.h"
#include "compiler/program_file.h"
#include "compiler/target.h"
#include "ops/op.h"

namespace corten {

namespace {

using AfterPass = std::function<void(const std::string&, const Graph&)>;

template <class Pass>
void run_pass(const char* name, Graph& g, const AfterPass& after, Pass pass) {
  pass(g);
  verify(g);
  if (after) after(name, g);
}

// "models/kws-v2.pt2" -> "kws_v2"
std::string identifier(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "model_" + name;
  return name;
}

struct Back {
  Graph graph;
  Planned planned;
  std::vector<uint8_t> image;
};

// Two errors closer than this are taken for equal; then the first candidate, which clips outliers, stands: other data has others.
constexpr double kClearly = 0.95;

// For less memory: while the step where the arena is fullest has a row that brings it down, that row is taken, whatever its speed.
void favour_ram(const Graph& g, Tier tier, const PlanOptions& options, std::vector<PlannedStep>& steps, Planned& planned) {
  for (size_t tries = 0; tries < steps.size() && !planned.steps.empty(); tries++) {
    const std::string& fullest = planned.steps[size_t(planned.bound_step)].node;
    const auto node = std::find_if(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.name == fullest; });
    std::vector<PlannedStep> other = steps;
    other[size_t(node - g.nodes.begin())] = select_one(g, *node, tier, Goal::ram);
    Planned p = plan(g, other, options);
    if (p.arena_bytes >= planned.arena_bytes) return;
    steps = std::move(other), planned = std::move(p);
  }
}

// Below this, ranges are a guess.
constexpr int64_t kFewSamples = 20;

Diag few_samples(int64_t count, const CompileOptions& o) {
  Diag d(Code::few_samples, "ranges are taken from " + std::to_string(count) + (count == 1 ? " sample" : " samples") + " only",
         "give 100 to 500 that are typical of what the device will see");
  d.severity = Severity::warning, d.subject = o.samples ? o.model : o.calibrate;
  return d;
}

Back lower(Graph g, const Calibration* calibration, Observer observer, const Target& target, const CompileOptions& o, bool dump) {
  const AfterPass after = dump ? o.after_pass : AfterPass{};
  if (o.check) o.check();
  run_pass("quantize", g, after, [&](Graph& q) { quantize(q, calibration, observer); });
  run_pass("prune", g, after, prune);
  if (o.plan.float_io) run_pass("float_io", g, after, float_io);
  run_pass("layout", g, after, layout);
  Back b;
  std::vector<PlannedStep> steps = select(g, target.tier, o.goal == Goal::ram ? Goal::balanced : o.goal);
  order(g, steps);
  b.planned = plan(g, steps, o.plan);
  if (o.goal == Goal::ram) favour_ram(g, target.tier, o.plan, steps, b.planned);
  check_plan(b.planned);
  b.planned.name = identifier(o.model), b.planned.target = std::string(target.name), b.planned.tier = target.tier;
  b.image = emit_image(b.planned);
  b.graph = std::move(g);
  return b;
}

// As many samples as take a fraction of a second.
int64_t samples_to_try(const Planned& p) {
  int64_t macs = 1;
  for (const PlannedStep& s : p.steps) macs += s.lowered.macs;
  return std::max<int64_t>(16, 150'000'000 / macs);
}

using Outputs = std::vector<std::vector<float>>;  // of one sample

std::vector<Outputs> float_outputs(const Graph& real, const Samples& samples, int64_t count, const std::function<void()>& check) {
  std::vector<Outputs> all(static_cast<size_t>(count));
  parallel_for(count, [&](int64_t first, int64_t last) {
    Evaluator evaluator(real);
    for (int64_t s = first; s < last; s++) {
      if (check) check();
      std::vector<const float*> in;
      for (size_t i = 0; i < real.inputs.size(); i++)
        in.push_back(samples.inputs[i].data() + s * elements(real[real.inputs[i]].shape));
      evaluator.run(in);
      for (ValueId v : real.outputs) all[size_t(s)].push_back(evaluator.value(v));
    }
  });
  return all;
}

// Squared error of the int8 outputs, relative to the power of those wanted: the mean over the samples, so that all count alike.
double output_error(const std::vector<Outputs>& wanted, const Back& b, const Samples& samples, const std::function<void()>& check) {
  const Program program = Program::from_bytes(b.image);
  std::vector<double> noise(wanted.size(), 0.0), power(wanted.size(), 0.0);
  parallel_for(int64_t(wanted.size()), [&](int64_t first, int64_t last) {
    for (size_t s = size_t(first); s < size_t(last); s++) {
      if (check) check();
      Sample sample;
      for (size_t i = 0; i < program.inputs().size(); i++) {
        const size_t n = size_t(program.inputs()[i].elements());
        sample.push_back(to_device(program.inputs()[i], {samples.inputs[i].data() + s * n, n}));
      }
      const Sample out = program.run(sample);
      for (size_t i = 0; i < out.size(); i++) {
        const std::vector<float> got = dequantised(program.outputs()[i], out[i]);
        const std::vector<float>& want = wanted[s][i];
        for (size_t k = 0; k < got.size(); k++) {
          noise[s] += std::pow(double(want[k]) - got[k], 2);
          power[s] += std::pow(double(want[k]), 2);
        }
      }
    }
  });
  double sum = 0;
  for (size_t s = 0; s < wanted.size(); s++) sum += power[s] > 0 ? noise[s] / power[s] : noise[s];
  return sum / double(wanted.size());
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::string>>> supported_operators() {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (const Op* op : all_ops()) {
    if (op->claims.empty()) continue;
    all.emplace_back(op->name, std::vector<std::string>{});
    for (const Claim& c : op->claims) all.back().second.emplace_back(c.aten);
  }
  return all;
}

bool needs_calibration(const Graph& g) {
  for (ValueId v : g.inputs)
    if (!g[v].quant) return true;
  return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return !g[n.out[0]].quant; });
}

int64_t given_scales(const Graph& g) {
  return std::count_if(g.values.begin(), g.values.end(), [](const Value& v) { return v.quant.has_value(); });
}

Graph unfused(const std::string& model) {
  Graph g = import_pt2(model);
  run_pass("legalize", g, {}, legalize);
  return g;
}

Graph front(const std::string& model, const AfterPass& after, const std::set<std::string>& without) {
  Graph g = import_pt2(model, without);
  cut(g, without);
  if (after) after("import", g);
  run_pass("legalize", g, after, legalize);
  run_pass("fuse", g, after, fuse);
  return g;
}

Compiled compile(const CompileOptions& o) {
  const Target& target = target_named(o.target);
  Compiled c;
  c.real = front(o.model, o.after_pass, o.without);
  if (given_scales(c.real)) c.notes = kept_float(c.real);
  Calibration calibration;
  std::shared_ptr<const Samples> samples;
  if (needs_calibration(c.real)) {
    if (o.samples || !o.calibrate.empty()) {
      samples = o.samples ? o.samples : std::make_shared<Samples>(load_samples(o.calibrate, c.real));
      const auto progress = [&](int64_t done) { o.progress(done, samples->count); };
      calibration = calibrate(c.real, samples->inputs, samples->count, o.progress ? progress : std::function<void(int64_t)>{});
      c.samples = samples->count;
      if (c.samples < kFewSamples) c.notes.push_back(few_samples(c.samples, o));
    }
  }
  std::vector<Observer> candidates = {Observer::minmax};
  if (o.observer)
    candidates = {*o.observer};
  else if (c.samples)
    candidates = {Observer::mse, Observer::minmax};
  Back best;
  std::vector<Outputs> wanted;
  for (Observer observer : candidates) {
    Back b = lower(c.real, c.samples ? &calibration : nullptr, observer, target, o, false);
    double error = 0;
    if (candidates.size() > 1) {
      if (wanted.empty()) wanted = float_outputs(c.real, *samples, std::min(samples->count, samples_to_try(b.planned)), o.check);
      error = output_error(wanted, b, *samples, o.check);
      c.output_error.push_back({observer, error});
    }
    if (observer == candidates[0] || error < kClearly * c.output_error[0].second) best = std::move(b), c.observer = observer;
  }
  if (o.after_pass) best = lower(c.real, c.samples ? &calibration : nullptr, c.observer, target, o, true);
  c.lowered = std::move(best.graph), c.planned = std::move(best.planned), c.image = std::move(best.image);
  return c;
}

}  // namespace corten
