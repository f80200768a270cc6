// Pieces of a comparison: rounding, figures, provenance. PyTorch and scikit-learn are compared with in test/python.
#include <doctest/doctest.h>

#include <limits>

#include "compiler/compare.h"
#include "compiler/counterpart.h"
#include "compiler/evaluate.h"
#include "compiler/metrics.h"
#include "compiler/stack_trace.h"
#include "ops/op.h"

using namespace corten;

TEST_CASE("compare: fake quantisation rounds as the compiler quantises") {
  Quant q;
  q.scale = {0.25}, q.zero = {3}, q.lo = -128, q.hi = 127;
  std::vector<float> values;
  for (int i = -4000; i <= 4000; i++) values.push_back(float(i) / 64);  // ties, and both ends
  values.insert(values.end(), {1e30f, -1e30f, 0.0f, std::numeric_limits<float>::infinity()});
  std::vector<float> rounded = values;
  round_to(q, rounded);
  for (size_t i = 0; i < values.size(); i++) CHECK(rounded[i] == 0.25f * float(quantise_value(values[i], q) - 3));
}

TEST_CASE("compare: area under the curve, ties half") {
  const std::vector<int64_t> labels = {0, 0, 1, 1};
  CHECK(area_under_curve(std::vector<double>{1, 2, 3, 4}, labels) == 1);
  CHECK(area_under_curve(std::vector<double>{4, 3, 2, 1}, labels) == 0);
  CHECK(area_under_curve(std::vector<double>{1, 1, 1, 1}, labels) == 0.5);
  CHECK(area_under_curve(std::vector<double>{1, 2, 2, 3}, labels) == 0.875);
}

TEST_CASE("compare: which metric is sensible") {
  CHECK(default_metrics(10, {}).empty());
  CHECK(default_metrics(10, {0, 9}) == std::vector<std::string>{"top1"});
  CHECK(default_metrics(10, {0, 10}).empty());
  CHECK(default_metrics(1, {0, 1}) == std::vector<std::string>{"auc"});
  CHECK(default_metrics(1, {0, 0}).empty());
  CHECK_THROWS_AS(check_metrics({"top1", "top2"}), Error);
}

TEST_CASE("compare: decibels of nothing") {
  CHECK(decibels(1, 0) == 200);
  CHECK(decibels(0, 1) == -200);
  CHECK(decibels(100, 1) == doctest::Approx(20));
}

TEST_CASE("compare: where a node comes from") {
  CHECK(parse_from_node(R"([{"name":"a","from_node":[{"name":"b","from_node":[]}]}])") == "b");
  CHECK(parse_from_node(R"([{"name":"a"}])") == "a");
  for (const char* text : {"", "[", "{}", "[1]", "[[]]", "null", R"([{"from_node":[{"name":7}]}])"})
    CHECK(parse_from_node(text).empty());
  CHECK(node_of_value("conv2d.1") == "conv2d");
}

namespace {

// conv -> batch norm -> relu, as exported.
Graph exported() {
  Graph g;
  const ValueId x = g.add_value("x", DType::f32, {1, 4});
  g.inputs = {x};
  ValueId last = x;
  for (const char* name : {"conv2d", "batch_norm", "relu"}) {
    Node n;
    n.name = name, n.aten = std::string("aten.") + name + ".default", n.in = {last};
    n.out = {last = g.add_value(name, DType::f32, {1, 4})};
    g.origins[name] = {"", std::string("module.") + name, n.aten, 0};
    g.nodes.push_back(n);
  }
  g.outputs = {last};
  return g;
}

std::string found(const Graph& g, const Origin& o, std::set<std::string> present = {}) {
  const ValueId v = Counterparts(g, std::move(present)).of(o);
  return v == kNone ? "" : g[v].name;
}

}  // namespace

TEST_CASE("compare: a node's counterpart, by name, else by place; folded batch norms count") {
  const Graph g = exported();
  CHECK(found(g, {"relu", "", "aten.relu_.default", 0}) == "relu");
  CHECK(found(g, {"conv2d", "", "aten.conv2d.padding", 0}) == "batch_norm");
  CHECK(found(g, {"conv2d", "", "aten.conv2d.padding", 0}, {"batch_norm"}) == "conv2d");
  CHECK(found(g, {"", "module.relu", "aten.relu.default", 0}) == "relu");
  CHECK(found(g, {"conv2d", "module.relu", "aten.relu.default", 0}) == "relu");  // a name of another operator
  CHECK(found(g, {"", "module.relu", "aten.relu.default", 1}).empty());
  CHECK(found(g, {"gone", "elsewhere", "aten.relu.default", 0}).empty());
}
