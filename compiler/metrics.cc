#include "compiler/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/diag.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

std::span<const float> row_of(const Scores& s, int64_t sample) {
  return {s.values.data() + size_t(sample) * s.classes(), s.classes()};
}

void need_labels(const Scores& s, const std::string& metric) {
  if (s.labels.empty())
    throw Error(Code::wrong_metric, "metric '" + metric + "' needs labels",
                "give the data an array `labels`, or leave this metric out");
}

void need_classes(const Scores& s, const std::string& metric) {
  need_labels(s, metric);
  if (s.classes() < 2)
    throw Error(Code::wrong_metric, "metric '" + metric + "' needs a score for each class, but the first output has one value",
                "use 'auc' or 'mse'");
  for (size_t i = 0; i < s.labels.size(); i++)
    if (s.labels[i] < 0 || s.labels[i] >= int64_t(s.classes()))
      throw Error(Code::wrong_metric,
                  fmt::format("label {} of sample {} is no class: the first output has {} scores", s.labels[i], i, s.classes()),
                  "labels are indices of classes, from 0");
}

// How many classes come before this one: larger scores, and equal ones of lower index.
int64_t rank(std::span<const float> scores, int64_t label) {
  int64_t before = 0;
  for (int64_t c = 0; c < int64_t(scores.size()); c++)
    before += scores[size_t(c)] > scores[size_t(label)] || (scores[size_t(c)] == scores[size_t(label)] && c < label);
  return before;
}

Json top(const Scores& s, const std::string& name, int64_t k) {
  need_classes(s, name);
  int64_t right = 0;
  for (int64_t i = 0; i < s.samples; i++) right += rank(row_of(s, i), s.labels[size_t(i)]) < k;
  return double(right) / double(s.samples);
}

Json confusion(const Scores& s, const std::string& name) {
  need_classes(s, name);
  std::vector<std::vector<int64_t>> counts(s.classes(), std::vector<int64_t>(s.classes(), 0));
  for (int64_t i = 0; i < s.samples; i++) {
    const auto row = row_of(s, i);
    counts[size_t(s.labels[size_t(i)])][size_t(std::max_element(row.begin(), row.end()) - row.begin())]++;
  }
  return counts;
}

// Mean squared difference of each sample's values from others.
std::vector<double> errors(const Scores& s, const std::vector<float>& from, const std::string& name) {
  if (from.size() != s.values.size())
    throw Error(Code::wrong_metric, "metric '" + name + "' needs an output of the input's size",
                "it is for models that rebuild their input");
  std::vector<double> all(size_t(s.samples), 0.0);
  for (size_t i = 0; i < s.values.size(); i++) {
    const double d = double(s.values[i]) - double(from[i]);
    all[i / s.classes()] += d * d / double(s.classes());
  }
  return all;
}

double mean(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / double(std::max<size_t>(v.size(), 1));
}

Json auc(const Scores& s, const std::string& name, bool reconstruction) {
  need_labels(s, name);
  int64_t ones = 0;
  for (size_t i = 0; i < s.labels.size(); i++) {
    if (s.labels[i] != 0 && s.labels[i] != 1)
      throw Error(Code::wrong_metric,
                  fmt::format("metric '{}' needs labels of 0 and 1, but sample {} has {}", name, i, s.labels[i]), "");
    ones += s.labels[i];
  }
  if (ones == 0 || ones == s.samples)
    throw Error(Code::wrong_metric, "metric '" + name + "' needs samples of both classes, 0 and 1", "");
  std::vector<double> scores;
  if (reconstruction) {
    scores = errors(s, s.input, name);
  } else {
    if (s.classes() > 2)
      throw Error(Code::wrong_metric,
                  fmt::format("metric '{}' needs one or two scores, but the first output has {} values", name, s.classes()),
                  "'auc:reconstruction' scores by the error against the input");
    for (int64_t i = 0; i < s.samples; i++) scores.push_back(row_of(s, i).back());
  }
  return area_under_curve(scores, s.labels);
}

struct Metric {
  const char* name;
  Json (*value)(const Scores&, const std::string& name);
};
constexpr Metric kMetrics[] = {
    {"top1", [](const Scores& s, const std::string& n) { return top(s, n, 1); }},
    {"top5", [](const Scores& s, const std::string& n) { return top(s, n, 5); }},
    {"confusion", confusion},
    {"auc", [](const Scores& s, const std::string& n) { return auc(s, n, false); }},
    {"auc:reconstruction", [](const Scores& s, const std::string& n) { return auc(s, n, true); }},
    {"mse", [](const Scores& s, const std::string& n) { return Json(mean(errors(s, s.reference, n))); }},
    {"mse:reconstruction", [](const Scores& s, const std::string& n) { return Json(mean(errors(s, s.input, n))); }},
};

const Metric* find(const std::string& name) {
  for (const Metric& m : kMetrics)
    if (m.name == name) return &m;
  return nullptr;
}

}  // namespace

double area_under_curve(std::span<const double> scores, std::span<const int64_t> labels) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  double ranks = 0, ones = 0;  // of class 1; equal scores share the mean of their ranks
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    double here = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[i]]; end++) here += labels[order[end]] == 1;
    ranks += here * (double(i + end - 1) / 2 + 1), ones += here;
    i = end;
  }
  const double zeros = double(scores.size()) - ones;
  return (ranks - ones * (ones + 1) / 2) / (ones * zeros);
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric& m : kMetrics) names.emplace_back(m.name);
  return names;
}

void check_metrics(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (!find(name))
      throw Error(Code::wrong_metric, "there is no metric '" + name + "'",
                  fmt::format("metrics are {}", fmt::join(metric_names(), ", ")));
}

std::vector<std::string> default_metrics(size_t scores, const std::vector<int64_t>& labels) {
  if (labels.empty()) return {};
  const auto within = [&](int64_t end) {
    return std::all_of(labels.begin(), labels.end(), [&](int64_t l) { return l >= 0 && l < end; });
  };
  if (scores > 1) return within(int64_t(scores)) ? std::vector<std::string>{"top1"} : std::vector<std::string>{};
  const bool both = std::count(labels.begin(), labels.end(), 0) && std::count(labels.begin(), labels.end(), 1);
  return both && within(2) ? std::vector<std::string>{"auc"} : std::vector<std::string>{};
}

nlohmann::ordered_json metric(const std::string& name, const Scores& scores) { return find(name)->value(scores, name); }

}  // namespace corten
