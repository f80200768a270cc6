#include "compiler/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>

#include "compiler/calibrate.h"
#include "compiler/compare_subject.h"
#include "compiler/evaluate.h"
#include "compiler/metrics.h"
#include "compiler/rank.h"
#include "compiler/report_fields.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

// ---- figures of one tensor -----------------------------------------------------------------------------------------------

struct Sums {
  double signal = 0, noise = 0, max_error = 0, saturated = 0, count = 0, largest = 0;
  float lo = std::numeric_limits<float>::infinity(), hi = -lo;

  void add(const std::vector<float>& want, const float* got, const Grid& grid) {
    const double half = grid.scale / 2, low = grid.scale * (-128 - grid.zero), high = grid.scale * (127 - grid.zero);
    for (size_t i = 0; i < want.size(); i++) {
      const double x = want[i], y = got[i], error = std::abs(x - y);
      signal += x * x, noise += error * error;
      max_error = std::max(max_error, error), largest = std::max(largest, std::abs(x));
      lo = std::min(lo, got[i]), hi = std::max(hi, got[i]);
      saturated += (y <= low + half && x < low - half) || (y >= high - half && x > high + half);
    }
    count += double(want.size());
  }
  void add(const Sums& o) {
    signal += o.signal, noise += o.noise, saturated += o.saturated, count += o.count;
    max_error = std::max(max_error, o.max_error), largest = std::max(largest, o.largest);
    lo = std::min(lo, o.lo), hi = std::max(hi, o.hi);
  }
  double crest() const { return signal > 0 ? largest / std::sqrt(signal / count) : 0; }
  std::optional<StageError> error(const Grid& grid) const {
    if (count == 0) return {};
    StageError e;
    e.sqnr_db = decibels(signal, noise), e.max_error = max_error;
    if (grid.scale > 0)
      e.saturated = saturated / count, e.range_used = (std::nearbyint((double(hi) - double(lo)) / grid.scale) + 1) / 256;
    return e;
  }
};

// ---- running -------------------------------------------------------------------------------------------------------------

struct Totals {
  std::array<std::vector<Sums>, kStages> steps, outputs;
  int64_t float_right = 0, int8_right = 0, same = 0;
  BoardResult board;
  Totals(size_t step_count, size_t output_count) {
    for (auto& s : steps) s.resize(step_count);
    for (auto& o : outputs) o.resize(output_count);
  }
  void add(const Totals& o);
};

bool before(const Difference& a, const Difference& b) { return a.inference < b.inference; }

void Totals::add(const Totals& o) {
  for (size_t k = 0; k < kStages; k++) {
    for (size_t i = 0; i < steps[k].size(); i++) steps[k][i].add(o.steps[k][i]);
    for (size_t i = 0; i < outputs[k].size(); i++) outputs[k][i].add(o.outputs[k][i]);
  }
  float_right += o.float_right, int8_right += o.int8_right, same += o.same;
  board.samples += o.board.samples, board.tensors += o.board.tensors;
  const auto& mine = board.first_difference;
  const auto& other = o.board.first_difference;
  if (other && (!mine || before(*other, *mine))) board.first_difference = other;
}

// Outputs that metrics or the caller want, written by all threads in their places.
struct Kept {
  size_t outputs = 0;  // how many of them
  StageOutputs real, stages[kStages];
  std::map<int64_t, size_t> board_rows;
};

class Worker {
 public:
  Worker(const Subject& s, const Program& p, const Samples& samples, const std::map<int64_t, const TracedInference*>& board,
         Kept& kept)
      : s_(s), program_(p), samples_(samples), board_(board), kept_(kept), totals(s.steps.size(), s.outputs.size()), real_(s.real) {
    if (s.fake) fake_ = std::make_unique<Evaluator>(*s.fake, true);
  }

  void run(int64_t sample) {
    std::vector<const float*> in;
    Sample device;
    for (size_t i = 0; i < samples_.inputs.size(); i++) {
      const IoInfo& io = program_.inputs()[i];
      in.push_back(samples_.inputs[i].data() + sample * io.elements());
      device.push_back(to_device(io, {in.back(), size_t(io.elements())}));
    }
    real_.run(in);
    if (fake_) fake_->run(in);
    const Traced host = program_.trace(device);
    const auto found = board_.find(sample);
    const Traced* board = found == board_.end() ? nullptr : &found->second->values;
    for (size_t i = 0; i < s_.steps.size(); i++) {
      const Mapped& m = s_.steps[i];
      const std::vector<uint8_t>* sent = board && !board->steps[i].empty() ? &board->steps[i] : nullptr;
      if (m.real != kNone) stages(m, host.steps[i], sent, totals.steps, i);
    }
    for (size_t i = 0; i < s_.outputs.size(); i++) {
      const std::vector<uint8_t>* sent = board && !board->outputs[i].empty() ? &board->outputs[i] : nullptr;
      stages(s_.outputs[i], host.outputs[i], sent, totals.outputs, i);
      keep(i, sample, host.outputs[i], sent);
    }
    if (!host.outputs.empty()) top(sample, dequantised(program_.outputs()[0], host.outputs[0]));
    if (board) against_board(sample, host, *board);
  }

 private:
  const float* values(const Mapped& m, const std::vector<uint8_t>& device) {
    scratch_.resize(m.index.size());
    const float scale = float(m.grid.scale);
    for (size_t i = 0; i < m.index.size(); i++) {
      if (m.grid.scale > 0)
        scratch_[m.index[i]] = float(int32_t(int8_t(device[i])) - m.grid.zero) * scale;
      else
        std::copy_n(device.data() + 4 * i, 4, reinterpret_cast<uint8_t*>(&scratch_[m.index[i]]));
    }
    return scratch_.data();
  }

  void stages(const Mapped& m, const std::vector<uint8_t>& host, const std::vector<uint8_t>* board,
              std::array<std::vector<Sums>, kStages>& into, size_t i) {
    const std::vector<float>& want = real_.value(m.real);
    if (fake_ && m.source != kNone && fake_->value(m.source).size() == want.size())
      into[size_t(Stage::fake_quant)][i].add(want, fake_->value(m.source).data(), m.grid);
    const size_t bytes = m.index.size() * (m.grid.scale > 0 ? 1 : 4);
    if (host.size() != bytes || want.size() != m.index.size()) return;  // pruned channels
    into[size_t(Stage::host)][i].add(want, values(m, host), m.grid);
    if (board) into[size_t(Stage::board)][i].add(want, values(m, *board), m.grid);
  }

  void keep(size_t output, int64_t sample, const std::vector<uint8_t>& host, const std::vector<uint8_t>* board) {
    if (output >= kept_.outputs) return;
    const Mapped& m = s_.outputs[output];
    const auto store = [&](StageOutputs& to, size_t row, const float* from) {
      std::copy_n(from, m.index.size(), to.values[output].data() + row * m.index.size());
    };
    store(kept_.real, size_t(sample), real_.value(m.real).data());
    if (fake_) store(kept_.stages[size_t(Stage::fake_quant)], size_t(sample), fake_->value(m.source).data());
    store(kept_.stages[size_t(Stage::host)], size_t(sample), values(m, host));
    if (board && kept_.board_rows.count(sample))
      store(kept_.stages[size_t(Stage::board)], kept_.board_rows.at(sample), values(m, *board));
  }

  void top(int64_t sample, const std::vector<float>& got) {
    const std::vector<float>& want = real_.value(s_.real.outputs[0]);
    if (want.empty()) return;
    const auto a = std::max_element(want.begin(), want.end()) - want.begin();
    const auto b = std::max_element(got.begin(), got.end()) - got.begin();
    totals.same += a == b;
    if (samples_.labels.empty()) return;
    const int64_t label = samples_.labels[size_t(sample)];
    totals.float_right += a == label, totals.int8_right += b == label;
  }

  void against_board(int64_t sample, const Traced& host, const Traced& board) {
    totals.board.samples++;
    const auto check = [&](const std::string& name, const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
      if (b.empty()) return;
      totals.board.tensors++;
      const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
      const Difference d = {sample, name, uint64_t(x - a.begin()), x == a.end() ? 0 : int8_t(*x), y == b.end() ? 0 : int8_t(*y)};
      auto& first = totals.board.first_difference;
      if ((x != a.end() || y != b.end()) && (!first || before(d, *first))) first = d;
    };
    for (size_t i = 0; i < host.steps.size(); i++)
      check(fmt::format("step {} ({})", i, program_.steps()[i].node), host.steps[i], board.steps[i]);
    for (size_t i = 0; i < host.outputs.size(); i++) check(fmt::format("output {}", i), host.outputs[i], board.outputs[i]);
  }

  const Subject& s_;
  const Program& program_;
  const Samples& samples_;
  const std::map<int64_t, const TracedInference*>& board_;
  Kept& kept_;

 public:
  Totals totals;

 private:
  Evaluator real_;
  std::unique_ptr<Evaluator> fake_;
  std::vector<float> scratch_;
};

// ---- results -------------------------------------------------------------------------------------------------------------

std::map<int64_t, const TracedInference*> board_samples(const CompareOptions& o, int64_t count) {
  std::map<int64_t, const TracedInference*> all;
  if (!o.board) return all;
  for (const TracedInference& i : o.board->inferences)
    if (i.number < count) all[i.number] = &i;
  if (all.empty())
    throw Error(Code::mismatch,
                fmt::format("{} has inferences from {} on, the data {} samples", o.board->source,
                            o.board->inferences.empty() ? 0 : o.board->inferences[0].number, count),
                "inference 0 is that of the data's first sample: give the samples that the board ran, in their order");
  return all;
}

Kept room_for(const Subject& s, int64_t count, const std::map<int64_t, const TracedInference*>& board, size_t outputs) {
  Kept k;
  k.outputs = outputs;
  const auto room = [&](StageOutputs& to, const char* name, std::vector<int64_t> samples) {
    to.stage = name, to.samples = std::move(samples);
    for (size_t o = 0; o < outputs; o++) to.values.emplace_back(to.samples.size() * s.outputs[o].index.size());
  };
  std::vector<int64_t> all(static_cast<size_t>(count)), sent;
  std::iota(all.begin(), all.end(), 0);
  for (const auto& [sample, inference] : board) {
    const Sample& values = inference->values.outputs;
    if (!std::all_of(values.begin(), values.end(), [](const auto& v) { return !v.empty(); })) continue;
    k.board_rows[sample] = sent.size();
    sent.push_back(sample);
  }
  room(k.real, "float", all);
  if (s.fake) room(k.stages[size_t(Stage::fake_quant)], kStageNames[size_t(Stage::fake_quant)], all);
  room(k.stages[size_t(Stage::host)], kStageNames[size_t(Stage::host)], all);
  if (!sent.empty()) room(k.stages[size_t(Stage::board)], kStageNames[size_t(Stage::board)], sent);
  return k;
}

// The metrics of one stage's outputs.
Scores scores_of(const StageOutputs& stage, const StageOutputs& real, const Samples& samples) {
  Scores s;
  s.values = stage.values[0], s.samples = int64_t(stage.samples.size());
  const size_t each = s.classes(), input = samples.inputs[0].size() / size_t(samples.count);
  for (int64_t i : stage.samples) {
    const auto reference = real.values[0].begin() + std::ptrdiff_t(size_t(i) * each);
    s.reference.insert(s.reference.end(), reference, reference + std::ptrdiff_t(each));
    const auto in = samples.inputs[0].begin() + std::ptrdiff_t(size_t(i) * input);
    s.input.insert(s.input.end(), in, in + std::ptrdiff_t(input));
    if (!samples.labels.empty()) s.labels.push_back(samples.labels[size_t(i)]);
  }
  return s;
}

Json metrics_of(const std::vector<std::string>& names, const Kept& kept, const Samples& samples) {
  Json all = Json::object();
  const auto stage = [&](const StageOutputs& outputs) {
    if (outputs.samples.empty() || names.empty()) return;
    const Scores scores = scores_of(outputs, kept.real, samples);
    for (const std::string& name : names) all[name][outputs.stage] = metric(name, scores);
  };
  stage(kept.real);
  for (const StageOutputs& s : kept.stages) stage(s);
  return all;
}

StageErrors errors_of(const std::array<std::vector<Sums>, kStages>& sums, size_t i, const Grid& grid) {
  StageErrors e;
  for (size_t k = 0; k < kStages; k++) e[k] = sums[k][i].error(grid);
  return e;
}

void rank(Comparison& c, const Subject& s, const Samples& samples, const Json& report, const std::vector<size_t>& at,
          const CompareOptions& o) {
  const int64_t cheap = samples_to_rank(report, samples.count);
  const int64_t count = o.rank.value_or(cheap > 0) ? std::max<int64_t>(cheap, 1) : 0;
  if (!s.fake || count == 0 || samples.count == 0) return;
  std::vector<Layer> layers;
  std::vector<ValueId> values;
  for (size_t i : at) layers.push_back({s.steps[i].source, s.steps[i].real}), values.push_back(s.steps[i].source);
  for (size_t i = 0; i < s.real.inputs.size(); i++) {
    const bool is_step = std::count(values.begin(), values.end(), s.fake->inputs[i]) > 0;  // float32 outside
    layers.push_back(is_step ? Layer{} : Layer{s.fake->inputs[i], s.real.inputs[i]});
  }
  std::mutex lock;
  const Costs costs = layer_costs(s.real, *s.fake, s.real_of, layers, samples, count, [&] {
    const std::lock_guard<std::mutex> hold(lock);
    if (o.progress) o.progress(samples.count, samples.count);
  });
  double sum = 0;
  for (double n : costs.noise) sum += std::max(n, 0.0);
  c.ranked_samples = count;
  c.input_cost.resize(s.real.inputs.size());
  for (size_t i = 0; i < layers.size(); i++) {
    StepError& e = i < at.size() ? c.steps[i] : c.input_cost[i - at.size()];
    if (i >= at.size()) e.node = s.real[s.real.inputs[i - at.size()]].name;
    if (costs.noise[i] < 0) continue;
    e.alone_db = decibels(costs.signal, costs.noise[i]), e.noise = sum > 0 ? costs.noise[i] / sum : 0;
  }
  advise(c, *s.fake, report, values);
}

}  // namespace

double decibels(double signal, double noise) { return noise == 0 ? 200 : signal == 0 ? -200 : 10 * std::log10(signal / noise); }

Comparison compare(const std::string& model, const Program& program, const Samples& samples, const Json& report,
                   const CompareOptions& o) {
  if (o.metrics) check_metrics(*o.metrics);
  const Subject s = subject_of(model, program, samples, report, o);
  const auto board = board_samples(o, samples.count);
  const std::vector<std::string> metrics = o.metrics.value_or(
      s.outputs.empty() ? std::vector<std::string>{} : default_metrics(s.outputs[0].index.size(), samples.labels));
  Kept kept = room_for(s, samples.count, board, o.keep_outputs ? s.outputs.size() : !metrics.empty());
  Totals total(s.steps.size(), s.outputs.size());
  std::mutex lock;
  int64_t done = 0;
  parallel_for(samples.count, [&](int64_t first, int64_t last) {
    Worker worker(s, program, samples, board, kept);
    for (int64_t i = first; i < last; i++) {
      worker.run(i);
      const std::lock_guard<std::mutex> hold(lock);
      if (++done; o.progress) o.progress(done, samples.count);
    }
    const std::lock_guard<std::mutex> hold(lock);
    total.add(worker.totals);
  });
  Comparison c;
  c.samples = samples.count, c.no_fake_quant = s.no_fake;
  std::vector<size_t> at;  // of the report's steps
  for (size_t i = 0; i < s.steps.size(); i++) {
    const Sums& host = total.steps[size_t(Stage::host)][i];
    if (host.count == 0) continue;
    StepError e;
    e.node = program.steps()[i].node, e.kernel = program.steps()[i].kernel, e.op = text_of(list_of(report, "steps")[i], "op");
    for (const Node& n : s.real.nodes)
      if (std::find(n.out.begin(), n.out.end(), s.steps[i].real) != n.out.end()) e.where = n.where;
    e.stages = errors_of(total.steps, i, s.steps[i].grid), e.crest = host.crest();
    c.steps.push_back(e), at.push_back(i);
  }
  for (size_t i = 0; i < s.outputs.size(); i++) c.outputs.push_back(errors_of(total.outputs, i, s.outputs[i].grid));
  const double n = double(std::max<int64_t>(samples.count, 1));
  c.labelled = !samples.labels.empty();
  c.top1_float = double(total.float_right) / n, c.top1_int8 = double(total.int8_right) / n, c.top1_same = double(total.same) / n;
  if (o.board) c.board = total.board, c.board->source = o.board->source;
  c.metrics = metrics_of(metrics, kept, samples);
  rank(c, s, samples, report, at, o);
  if (o.keep_outputs) {
    c.kept.push_back(std::move(kept.real));
    for (StageOutputs& stage : kept.stages)
      if (!stage.samples.empty()) c.kept.push_back(std::move(stage));
  }
  return c;
}

}  // namespace corten
