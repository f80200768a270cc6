// constant: tensors that a program makes from numbers alone (zeros, ones, full, ...). They become constants of the graph; nothing
// runs.
#include "ops/legal.h"

namespace corten {

namespace {

void filled(Legalizer& l, float value) {
  const Shape shape = result_shape(l);
  l.result(l.emit_constant("value", shape, std::vector<float>(size_t(elements(shape)), value)));
}

void zeros(Legalizer& l) { filled(l, 0); }
void ones(Legalizer& l) { filled(l, 1); }

void full(Legalizer& l) {
  const std::string_view name = l.n.has("fill_value") ? "fill_value" : l.n.has("s") ? "s" : "value";
  filled(l, float(operand(l, name).number));
}

void arange(Legalizer& l) {
  const int64_t n = elements(result_shape(l));
  std::vector<float> values;
  for (int64_t i = 0; i < n; i++) values.push_back(float(l.n.real("start", 0) + double(i) * l.n.real("step", 1)));
  l.result(l.emit_constant("value", result_shape(l), values));
}

constexpr Claim kClaims[] = {
    {"aten.zeros.default", zeros},        {"aten.zeros_like.default", zeros}, {"aten.new_zeros.default", zeros},
    {"aten.ones.default", ones},          {"aten.ones_like.default", ones},   {"aten.new_ones.default", ones},
    {"aten.full.default", full},          {"aten.full_like.default", full},   {"aten.new_full.default", full},
    {"aten.scalar_tensor.default", full}, {"aten.arange.default", arange},    {"aten.arange.start", arange},
    {"aten.arange.start_step", arange},
};

}  // namespace

extern const Op op_constant;
const Op op_constant = {.name = "constant", .claims = kClaims};

}  // namespace corten
