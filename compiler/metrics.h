// Figures of a stage's outputs over all samples: accuracy and the like.
#pragma once
#include <stdint.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace corten {

// Scores: the first output of n samples, one after the other.
struct Scores {
  std::vector<float> values;
  std::vector<float> reference;  // the float stage's, same samples
  std::vector<float> input;      // the first input, same samples
  std::vector<int64_t> labels;   // empty: none
  int64_t samples = 0;
  size_t classes() const { return samples ? values.size() / size_t(samples) : 0; }
};

std::vector<std::string> metric_names();
// Throws Error for names that are none.
void check_metrics(const std::vector<std::string>&);
// What is sensible if nothing is asked for; `scores` per sample.
std::vector<std::string> default_metrics(size_t scores, const std::vector<int64_t>& labels);
// A number, or for "confusion" rows of counts (by label; columns by prediction). Throws Error where the data cannot give it.
nlohmann::ordered_json metric(const std::string& name, const Scores&);

// The area under the ROC curve: how often a sample of class 1 scores above one of class 0, ties half.
double area_under_curve(std::span<const double> scores, std::span<const int64_t> labels);

}  // namespace corten
