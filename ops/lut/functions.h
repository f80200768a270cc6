// The list of lut stages: one formula each, for floats (execution) and doubles (the table). x is the value, a and b the stage's
// numbers. Host only.
#pragma once
#include <stdint.h>

#include <cmath>
#include <string_view>

namespace corten {

struct LutFunction {
  std::string_view name;
  void (*on_floats)(float* x, int64_t count, float a, float b);  // in place
  double (*on_double)(double x, double a, double b);
};

namespace lut {

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
T clamped(T x, T lo, T hi) {
  return x < lo ? lo : x > hi ? hi : x;
}
template <class T>
T softplus(T x, T beta, T threshold) {
  return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
}
template <class T>
T gelu_tanh(T x) {
  const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);  // sqrt(2 / pi)
  return x / 2 * (1 + std::tanh(inner));
}

// The float form is a loop of its own, so that the compiler can vectorise the plain ones.
template <class F>
constexpr LutFunction stage(std::string_view name, F) {
  return {name,
          [](float* x, int64_t count, float a, float b) {
            for (int64_t i = 0; i < count; i++) x[i] = F{}(x[i], a, b);
          },
          [](double x, double a, double b) { return F{}(x, a, b); }};
}
#define STAGE(name, formula)                                                 \
  stage(name, [](auto x, [[maybe_unused]] auto a, [[maybe_unused]] auto b) { \
    using T [[maybe_unused]] = decltype(x);                                  \
    return T(formula);                                                       \
  })

inline constexpr LutFunction kFunctions[] = {
    STAGE("clamp", clamped(x, a, b)),
    STAGE("add_scalar", x + a),
    STAGE("mul_scalar", (x * a)),
    STAGE("leaky_relu", x > 0 ? x : x * a),
    STAGE("elu", x > 0 ? x * b : std::expm1(x) * a * b),
    STAGE("celu", x > 0 ? x : std::expm1(x / a) * a),
    STAGE("gelu", x / 2 * (1 + std::erf(x * T(0.70710678118654752440)))),
    STAGE("gelu_tanh", gelu_tanh(x)),
    STAGE("silu", x* sigmoid(x)),
    STAGE("mish", x* std::tanh(softplus(x, T(1), T(20)))),
    STAGE("hardswish", x* clamped(x + 3, T(0), T(6)) / 6),
    STAGE("hardsigmoid", clamped(x + 3, T(0), T(6)) / 6),
    STAGE("sigmoid", sigmoid(x)),
    STAGE("logsigmoid", std::min(x, T(0)) - std::log1p(std::exp(-std::abs(x)))),
    STAGE("tanh", std::tanh(x)),
    STAGE("softplus", softplus(x, a, b)),
    STAGE("softsign", x / (1 + std::abs(x))),
    STAGE("hardshrink", x >= -a && x <= a ? 0 : x),
    STAGE("softshrink", x > a    ? x - a
                        : x < -a ? x + a
                                 : 0),
    STAGE("threshold", x > a ? x : b),
    STAGE("exp", std::exp(x)),
    STAGE("expm1", std::expm1(x)),
    STAGE("log", std::log(x)),
    STAGE("log1p", std::log1p(x)),
    STAGE("log2", std::log2(x)),
    STAGE("log10", std::log10(x)),
    STAGE("sqrt", std::sqrt(x)),
    STAGE("rsqrt", 1 / std::sqrt(x)),
    STAGE("reciprocal", 1 / x),
    STAGE("abs", std::abs(x)),
    STAGE("square", x* x),
    STAGE("pow", std::pow(x, a)),
    STAGE("sin", std::sin(x)),
    STAGE("cos", std::cos(x)),
    STAGE("erf", std::erf(x)),
    STAGE("floor", std::floor(x)),
    STAGE("ceil", std::ceil(x)),
    STAGE("trunc", std::trunc(x)),
    STAGE("round", std::nearbyint(x)),  // half to even, the default rounding mode
    STAGE("sign", x > 0   ? 1
                  : x < 0 ? -1
                          : 0),
};
#undef STAGE

}  // namespace lut

// nullptr if none
inline const LutFunction* lut_function(std::string_view name) {
  for (const LutFunction& f : lut::kFunctions)
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace corten
