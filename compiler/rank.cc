#include "compiler/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>

#include "compiler/calibrate.h"
#include "compiler/evaluate.h"
#include "compiler/report_fields.h"
#include "compiler/requantise.h"
#include "ops/op.h"

namespace corten {

namespace {

// The value of the float program that an operand stands for; a requantised one is what it was before.
ValueId operand_in(const Graph& source, const std::vector<ValueId>& real_of, ValueId v) {
  while (size_t(v) >= real_of.size() || real_of[size_t(v)] == kNone) {
    const int p = source.producer(v);
    if (p < 0 || !is_requantise(source.nodes[size_t(p)])) return kNone;
    v = source.nodes[size_t(p)].in[0];
  }
  return real_of[size_t(v)];
}

// A layer with what it takes to run it: the node of the quantised program, its operands in the float one.
struct Runnable {
  size_t layer = 0;
  const Node* node = nullptr;  // null: an input of the program
  std::vector<ValueId> operands;
  ValueId out = kNone, quantised = kNone;
  int position = -1;  // of the node in the float program that makes the same value; -1: an input
};

std::vector<Runnable> runnable(const Graph& real, const Graph& source, const std::vector<ValueId>& real_of,
                               const std::vector<Layer>& layers) {
  std::vector<Runnable> all;
  for (size_t i = 0; i < layers.size(); i++) {
    const Layer& l = layers[i];
    if (l.source == kNone || l.real == kNone || !source[l.source].quant) continue;
    Runnable r;
    r.layer = i, r.out = l.real, r.quantised = l.source, r.position = real.producer(l.real);
    const int p = source.producer(l.source);
    bool whole = elements(source[l.source].shape) == elements(real[l.real].shape);
    if (p >= 0) {
      r.node = &source.nodes[size_t(p)];
      whole = whole && r.node->out.size() == 1 && r.position >= 0;
      for (ValueId v : r.node->in) {
        const bool constant = v == kNone || source.is_constant(v);
        r.operands.push_back(constant ? kNone : operand_in(source, real_of, v));
        whole = whole && (constant || r.operands.back() != kNone);
      }
    }
    if (whole) all.push_back(std::move(r));
  }
  // From the last to the first, so that what a layer reads is untouched by those before.
  std::stable_sort(all.begin(), all.end(), [](const Runnable& a, const Runnable& b) { return a.position > b.position; });
  return all;
}

// Of a layer whose operands have the output's scale: only what it rounds of operands that are rounded already, which is nothing
// where it moves them.
void add_own_rounding(const Runnable& r, const Graph& source, std::vector<const float*>& in, std::vector<float>& out,
                      const std::function<void()>& eval) {
  const std::vector<float> real = out;
  std::vector<std::vector<float>> rounded;
  rounded.reserve(in.size());
  for (size_t k = 0; k < in.size(); k++) {
    if (r.operands[k] == kNone) continue;
    const ValueId v = r.node->in[k];
    rounded.emplace_back(in[k], in[k] + elements(source[v].shape));
    if (source[v].quant) round_to(*source[v].quant, rounded.back());
    in[k] = rounded.back().data();
  }
  eval();
  const std::vector<float> unrounded = out;
  round_to(*source[r.quantised].quant, out);
  for (size_t i = 0; i < out.size(); i++) out[i] = real[i] + (out[i] - unrounded[i]);
}

void run_layer(const Runnable& r, const Graph& source, const Evaluator& constants, Evaluator& evaluator) {
  std::vector<float>& out = evaluator.value(r.out);
  if (r.node) {
    std::vector<const float*> in;
    for (size_t k = 0; k < r.node->in.size(); k++) {
      const ValueId v = r.node->in[k];
      in.push_back(v == kNone               ? nullptr
                   : r.operands[k] == kNone ? constants.value(v).data()
                                            : const_cast<const Evaluator&>(evaluator).value(r.operands[k]).data());
    }
    float* to = out.data();
    const auto eval = [&] { op_of(*r.node).eval({source, *r.node, in, std::span<float* const>(&to, 1)}); };
    if (op_of(*r.node).quant != QuantRule::observed) {
      add_own_rounding(r, source, in, out, eval);
      return evaluator.run_from(size_t(r.position + 1));
    }
    eval();
  }
  round_to(*source[r.quantised].quant, out);
  evaluator.run_from(size_t(r.position + 1));
}

}  // namespace

Costs layer_costs(const Graph& real, const Graph& source, const std::vector<ValueId>& real_of, const std::vector<Layer>& layers,
                  const Samples& samples, int64_t count, const std::function<void()>& tick) {
  const std::vector<Runnable> order = runnable(real, source, real_of, layers);
  const Evaluator constants(source);
  std::vector<std::vector<double>> noise(size_t(count), std::vector<double>(layers.size(), -1));
  std::vector<double> signal(size_t(count), 0.0);
  parallel_for(count, [&](int64_t first, int64_t last) {
    Evaluator evaluator(real);
    for (int64_t s = first; s < last; s++) {
      std::vector<const float*> in;
      for (const auto& input : samples.inputs) in.push_back(input.data() + size_t(s) * (input.size() / size_t(samples.count)));
      evaluator.run(in);
      std::vector<std::vector<float>> want;
      for (ValueId v : real.outputs) {
        want.push_back(evaluator.value(v));
        for (float x : want.back()) signal[size_t(s)] += double(x) * double(x);
      }
      for (const Runnable& r : order) {
        if (tick) tick();
        run_layer(r, source, constants, evaluator);
        double sum = 0;
        for (size_t o = 0; o < want.size(); o++)
          for (size_t k = 0; k < want[o].size(); k++) sum += std::pow(double(evaluator.value(real.outputs[o])[k]) - want[o][k], 2);
        noise[size_t(s)][r.layer] = sum;
      }
    }
  });
  Costs c;
  c.noise.assign(layers.size(), -1), c.signal = std::accumulate(signal.begin(), signal.end(), 0.0);
  for (const Runnable& r : order) {
    c.noise[r.layer] = 0;
    for (const auto& of_sample : noise) c.noise[r.layer] += of_sample[r.layer];
  }
  return c;
}

int64_t samples_to_rank(const nlohmann::ordered_json& report, int64_t samples) {
  constexpr double kMost = 16, kFree = 2e9;  // multiply-accumulates that take a second or two
  double macs = 1e5;                         // what is no multiply-accumulate takes time too
  for (const auto& step : list_of(report, "steps")) macs += number_of(step, "macs").value_or(0);
  const double runs = double(list_of(report, "steps").size() + 1) / 2;  // a layer runs what comes after it: half on average
  return int64_t(std::min({kMost, double(samples), std::max(kFree, double(samples) * macs / 4) / (macs * runs)}));
}

// ---- advice -----------------------------------------------------------------------------------------------------------------

namespace {

constexpr size_t kAdvised = 5;
constexpr double kWorthIt = 0.05;  // of the noise

// How far the channels' largest weights are apart, where the weights have one scale; 1 if they have one each.
double channel_ratio(const Graph& source, ValueId value) {
  const int p = source.producer(value);
  if (source.nodes[size_t(p)].in.size() < 2 || source.nodes[size_t(p)].in[1] == kNone) return 1;
  const Value& w = source[source.nodes[size_t(p)].in[1]];
  if (!w.data || w.shape.size() < 2 || w.shape[0] < 2 || !w.quant) return 1;
  const std::vector<double>& scales = w.quant->scale;
  if (std::adjacent_find(scales.begin(), scales.end(), std::not_equal_to<>()) != scales.end()) return 1;
  const std::vector<float> values = constant_floats(source, source.nodes[size_t(p)].in[1]);
  const size_t per_channel = values.size() / size_t(w.shape[0]);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (size_t c = 0; c < size_t(w.shape[0]); c++) {
    double largest = 0;
    for (size_t k = 0; k < per_channel; k++) largest = std::max(largest, std::abs(double(values[c * per_channel + k])));
    least = std::min(least, largest > 0 ? largest : scales[0] / 2);  // all rounded to nothing
    most = std::max(most, largest);
  }
  return most > 0 ? most / least : 1;
}

// What advice depends on beside the figures.
struct Facts {
  bool given = false;   // the program has scales of its own
  bool minmax = false;  // the observer
  bool fixed = false;   // the operator's range is always the same
  bool shares = false;  // it has the scale of its operand
  double channel_ratio = 1;
};

Facts facts_of(const Graph& source, ValueId value, const nlohmann::ordered_json& report) {
  const auto& calibration = part_of(report, "calibration");
  Facts f;
  f.given = number_of(calibration, "samples").value_or(0) == 0, f.minmax = text_of(calibration, "observer") == "min-max";
  const int p = value == kNone ? -1 : source.producer(value);
  if (p < 0) return f;
  const Node& n = source.nodes[size_t(p)];
  const Op& op = op_of(n);
  f.fixed = op.fixed_quant && op.fixed_quant(n), f.shares = op.quant != QuantRule::observed;
  f.channel_ratio = channel_ratio(source, value);
  return f;
}

std::vector<std::string> help_for(const StepError& e, const Facts& f) {
  std::vector<std::string> all;
  const auto& host = e.stages[size_t(Stage::host)];
  const double saturated = host ? host->saturated.value_or(0) : 0, used = host ? host->range_used.value_or(1) : 1;
  if (saturated >= 0.001 && !f.fixed)
    all.push_back(fmt::format("{:.2g} % of its values lie beyond the int8 range: calibrate with more data like this{}",
                              100 * saturated, f.given || f.minmax ? "" : ", or with the observer minmax"));
  if (used <= 0.5 && f.shares)
    all.push_back(fmt::format("it has its operand's scale, of which it uses {:.0f} of 256 codes", 256 * used));
  if (used <= 0.5 && !f.shares && !f.fixed)
    all.push_back(fmt::format("it uses {:.0f} of 256 codes: rare values in the calibration data set its scale; {}", 256 * used,
                              f.given    ? "observe it by histogram in PyTorch"
                              : f.minmax ? "try the observer mse"
                                         : "leave out outliers"));
  if (f.channel_ratio >= 4)
    all.push_back(
        fmt::format("its weights have one scale for all channels, whose largest weights differ {:.0f} times: give each "
                    "channel its own (is_per_channel=True)",
                    f.channel_ratio));
  if (e.crest >= 20 && !f.fixed)
    all.push_back(
        fmt::format("its largest value is {:.0f} times the root mean square: a clamp in the model (ReLU6) would keep the "
                    "scale small",
                    e.crest));
  if (all.empty()) all.push_back("no range stands out: fine-tune with fake quantisation (QAT) if accuracy is too low");
  return all;
}

}  // namespace

void advise(Comparison& c, const Graph& source, const nlohmann::ordered_json& report, const std::vector<ValueId>& step_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < c.steps.size(); i++)
    if (c.steps[i].noise.value_or(0) >= kWorthIt) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return c.steps[a].noise > c.steps[b].noise; });
  if (order.size() > kAdvised) order.resize(kAdvised);
  for (size_t i : order) c.steps[i].advice = help_for(c.steps[i], facts_of(source, step_values[i], report));
}

}  // namespace corten
