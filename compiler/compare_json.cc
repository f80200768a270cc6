// A comparison as JSON; docs/compare.md has the fields.
#include "compiler/compare.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

Json stages_of(const StageErrors& stages) {
  Json all = Json::object();
  for (size_t k = 0; k < kStages; k++) {
    if (!stages[k]) continue;
    Json& j = all[kStageNames[k]];
    j = {{"sqnr_db", stages[k]->sqnr_db}, {"max_error", stages[k]->max_error}};
    if (stages[k]->saturated) j["saturated"] = *stages[k]->saturated;
    if (stages[k]->range_used) j["range_used"] = *stages[k]->range_used;
  }
  return all;
}

void add_cost(Json& j, const StepError& e) {
  if (e.alone_db) j["alone_db"] = *e.alone_db;
  if (e.noise) j["noise"] = *e.noise;
  if (!e.advice.empty()) j["advice"] = e.advice;
}

Json step_of(const StepError& e) {
  const StageError& host = *e.stages[size_t(Stage::host)];
  Json j = {{"node", e.node}, {"op", e.op}, {"kernel", e.kernel}, {"sqnr_db", host.sqnr_db}, {"saturated", *host.saturated}};
  j["stages"] = stages_of(e.stages);
  add_cost(j, e);
  const Location& w = e.where.library ? Location{} : e.where;
  j["file"] = w.file, j["line"] = w.line, j["text"] = w.text, j["module"] = e.where.module;
  return j;
}

Json board_of(const BoardResult& b) {
  Json j = {{"source", b.source}, {"samples", b.samples}, {"tensors", b.tensors}, {"equal", !b.first_difference}};
  if (const auto& d = b.first_difference)
    j["first_difference"] = {
        {"inference", d->inference}, {"tensor", d->tensor}, {"index", d->index}, {"host", d->host}, {"board", d->board}};
  return j;
}

}  // namespace

Json to_json(const Comparison& c) {
  Json j = {{"samples", c.samples}};
  j["output_sqnr_db"] = Json::array(), j["outputs"] = Json::array();
  for (const StageErrors& o : c.outputs) {
    j["output_sqnr_db"].push_back(o[size_t(Stage::host)] ? o[size_t(Stage::host)]->sqnr_db : 0);
    j["outputs"].push_back({{"stages", stages_of(o)}});
  }
  j["top1_same"] = c.top1_same;
  if (c.labelled) j["top1_float"] = c.top1_float, j["top1_int8"] = c.top1_int8;
  j["metrics"] = c.metrics;
  if (!c.no_fake_quant.empty()) j["no_fake_quant"] = c.no_fake_quant;
  if (c.board) j["board"] = board_of(*c.board);
  if (c.ranked_samples) {
    j["ranked_samples"] = c.ranked_samples;
    j["inputs"] = Json::array();
    for (const StepError& e : c.input_cost) {
      Json input = {{"node", e.node}};
      add_cost(input, e);
      j["inputs"].push_back(input);
    }
  }
  j["steps"] = Json::array();
  for (const StepError& e : c.steps) j["steps"].push_back(step_of(e));
  return j;
}

}  // namespace corten
