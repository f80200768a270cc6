#include "compiler/fake_quant.h"

#include <algorithm>
#include <map>

#include "compiler/calibrate.h"
#include "compiler/passes.h"
#include "compiler/pipeline.h"
#include "compiler/report_fields.h"

namespace corten {

namespace {

constexpr int64_t kMeanSamples = 32;

Quant per_tensor(double scale, int32_t zero) {
  Quant q;
  q.scale = {scale}, q.zero = {zero};
  return q;
}

}  // namespace

Graph fake_quantised(const Graph& source, const Program& program, const nlohmann::ordered_json& report, const Samples& samples) {
  Graph g = source;
  std::map<std::string, ValueId> by_name;
  for (ValueId v : g.inputs) by_name[g[v].name] = v;
  for (const Node& n : g.nodes)
    for (ValueId v : n.out) by_name[g[v].name] = v;
  for (size_t i = 0; i < g.inputs.size(); i++)
    if (const IoInfo& io = program.inputs()[i]; io.dtype == DType::i8 && !g[g.inputs[i]].quant)
      g[g.inputs[i]].quant = per_tensor(io.scale, io.zero);
  for (const auto& step : list_of(report, "steps")) {
    const auto scale = number_of(step, "scale"), zero = number_of(step, "zero_point");
    const auto value = by_name.find(text_of(step, "value"));
    if (scale && zero && value != by_name.end() && !g[value->second].quant)
      g[value->second].quant = per_tensor(*scale, int32_t(*zero));
  }
  if (!needs_calibration(source)) {
    quantize(g, nullptr, Observer::minmax);
    return g;
  }
  // For the channels' means alone: there is a scale for everything that is stored.
  const Calibration means = calibrate(source, samples.inputs, std::min(samples.count, kMeanSamples));
  quantize(g, &means, Observer::minmax);
  return g;
}

}  // namespace corten
