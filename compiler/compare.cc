#include "compiler/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "compiler/calibrate.h"
#include "compiler/evaluate.h"

namespace corten {

namespace {

struct Sums {
  double signal = 0, noise = 0, saturated = 0, count = 0;
  void add(double want, double got) { signal += want * want, noise += (want - got) * (want - got); }
  void add(const Sums& o) { signal += o.signal, noise += o.noise, saturated += o.saturated, count += o.count; }
  double db() const { return noise == 0 ? 200 : signal == 0 ? -200 : 10 * std::log10(signal / noise); }
};

// A step's value in the float program, and how to read its bytes.
struct Mapped {
  ValueId value = kNone;
  IoInfo io;
  std::string op;
};

std::vector<Mapped> mapping(const Graph& real, const nlohmann::ordered_json& report) {
  std::map<std::string, ValueId> by_name;
  for (const Node& n : real.nodes)
    for (ValueId v : n.out) by_name[real[v].name] = v;
  std::vector<Mapped> all;
  if (!report.is_object() || !report.contains("steps")) return all;
  for (const auto& step : report.at("steps")) {
    Mapped m;
    m.op = step.value("op", "");
    const auto it = by_name.find(step.value("value", ""));
    if (it != by_name.end() && step.contains("scale")) {
      m.io.perm = step.at("perm").get<std::vector<int>>();
      m.io.shape = real[it->second].shape;
      if (m.io.perm.empty())
        for (size_t d = 0; d < m.io.shape.size(); d++) m.io.perm.push_back(int(d));
      m.io.name = step.value("node", ""), m.io.bytes = uint32_t(m.io.elements());
      m.io.scale = step.at("scale"), m.io.zero = step.at("zero_point");
      m.io.bytes = uint32_t(m.io.elements());
      if (m.io.perm.size() == m.io.shape.size()) m.value = it->second;
    }
    all.push_back(m);
  }
  return all;
}

size_t largest(const float* v, size_t n) { return size_t(std::max_element(v, v + n) - v); }

struct Totals {
  std::vector<Sums> steps, outputs;
  int64_t float_right = 0, int8_right = 0, same = 0;
};

void add_step(Sums& sums, const Mapped& m, const std::vector<uint8_t>& bytes, const std::vector<float>& want) {
  if (bytes.size() != m.io.bytes || bytes.size() != want.size()) return;
  const std::vector<float> got = dequantised(m.io, bytes);
  const double lo = m.io.scale * (-128 - m.io.zero - 0.5), hi = m.io.scale * (127 - m.io.zero + 0.5);
  for (size_t i = 0; i < got.size(); i++) {
    sums.add(want[i], got[i]);
    sums.saturated += want[i] < lo || want[i] > hi;
  }
  sums.count += double(got.size());
}

void one_sample(int64_t s, Evaluator& evaluator, const Graph& real, const Program& program, const Samples& samples,
                const std::vector<Mapped>& map, Totals& t) {
  std::vector<const float*> in;
  Sample device;
  for (size_t i = 0; i < samples.inputs.size(); i++) {
    const int64_t n = program.inputs()[i].elements();
    in.push_back(samples.inputs[i].data() + s * n);
    device.push_back(to_device(program.inputs()[i], {in.back(), size_t(n)}));
  }
  evaluator.run(in);
  if (!map.empty()) {
    const auto written = program.trace(device);
    for (size_t i = 0; i < written.size() && i < map.size(); i++)
      if (map[i].value != kNone) add_step(t.steps[i], map[i], written[i], evaluator.value(map[i].value));
  }
  const Sample out = program.run(device);
  for (size_t i = 0; i < out.size(); i++) {
    const std::vector<float> got = dequantised(program.outputs()[i], out[i]);
    const std::vector<float>& want = evaluator.value(real.outputs[i]);
    for (size_t k = 0; k < got.size(); k++) t.outputs[i].add(want[k], got[k]);
    if (i || got.empty()) continue;
    const size_t a = largest(want.data(), want.size()), b = largest(got.data(), got.size());
    t.same += a == b;
    if (samples.labels.empty()) continue;
    t.float_right += int64_t(a) == samples.labels[size_t(s)], t.int8_right += int64_t(b) == samples.labels[size_t(s)];
  }
}

}  // namespace

Comparison compare(const Graph& real, const Program& program, const Samples& samples, const nlohmann::ordered_json& report,
                   const std::function<void(int64_t done, int64_t all)>& progress) {
  if (real.inputs.size() != program.inputs().size() || real.outputs.size() != program.outputs().size())
    throw Error("the image has " + std::to_string(program.inputs().size()) + " inputs and " +
                    std::to_string(program.outputs().size()) + " outputs, the program has " + std::to_string(real.inputs.size()) +
                    " and " + std::to_string(real.outputs.size()),
                "give the .pt2 that this image was compiled from");
  for (size_t i = 0; i < real.inputs.size(); i++)
    if (real[real.inputs[i]].shape != program.inputs()[i].shape)
      throw Error("input " + std::to_string(i) + " of the image has shape " + to_text(program.inputs()[i].shape) +
                      ", of the program " + to_text(real[real.inputs[i]].shape),
                  "give the .pt2 that this image was compiled from");
  std::vector<Mapped> map = mapping(real, report);
  if (map.size() != program.steps().size()) map.clear();
  Totals total;
  total.steps.resize(map.size()), total.outputs.resize(program.outputs().size());
  std::mutex lock;
  int64_t done = 0;
  parallel_for(samples.count, [&](int64_t first, int64_t last) {
    Evaluator evaluator(real);
    Totals t;
    t.steps.resize(map.size()), t.outputs.resize(program.outputs().size());
    for (int64_t s = first; s < last; s++) {
      one_sample(s, evaluator, real, program, samples, map, t);
      const std::lock_guard<std::mutex> hold(lock);
      if (++done; progress) progress(done, samples.count);
    }
    const std::lock_guard<std::mutex> hold(lock);
    for (size_t i = 0; i < t.steps.size(); i++) total.steps[i].add(t.steps[i]);
    for (size_t i = 0; i < t.outputs.size(); i++) total.outputs[i].add(t.outputs[i]);
    total.float_right += t.float_right, total.int8_right += t.int8_right, total.same += t.same;
  });
  Comparison c;
  c.samples = samples.count;
  const double n = double(std::max<int64_t>(samples.count, 1));
  for (size_t i = 0; i < map.size(); i++) {
    if (map[i].value == kNone || total.steps[i].count == 0) continue;
    StepError e;
    e.node = program.steps()[i].node, e.kernel = program.steps()[i].kernel, e.op = map[i].op;
    for (const Node& node : real.nodes)
      if (std::find(node.out.begin(), node.out.end(), map[i].value) != node.out.end()) e.where = node.where;
    e.sqnr_db = total.steps[i].db(), e.saturated = total.steps[i].saturated / total.steps[i].count;
    c.steps.push_back(e);
  }
  for (const Sums& s : total.outputs) c.output_sqnr_db.push_back(s.db());
  c.labelled = !samples.labels.empty();
  c.top1_float = double(total.float_right) / n, c.top1_int8 = double(total.int8_right) / n, c.top1_same = double(total.same) / n;
  return c;
}

nlohmann::ordered_json to_json(const Comparison& c) {
  nlohmann::ordered_json j = {{"samples", c.samples}, {"output_sqnr_db", c.output_sqnr_db}, {"top1_same", c.top1_same}};
  if (c.labelled) j["top1_float"] = c.top1_float, j["top1_int8"] = c.top1_int8;
  j["steps"] = nlohmann::ordered_json::array();
  for (const StepError& e : c.steps)
    j["steps"].push_back({{"node", e.node},
                          {"op", e.op},
                          {"kernel", e.kernel},
                          {"sqnr_db", e.sqnr_db},
                          {"saturated", e.saturated},
                          {"file", e.where.file},
                          {"line", e.where.line},
                          {"text", e.where.text}});
  return j;
}

}  // namespace corten
