// The operators on the host: shapes, float execution, permuted dims, traits. PyTorch itself is compared with in test/python.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "ops/op.h"

namespace corten {
namespace {

using Floats = std::vector<float>;

// One node with operands of the given shapes; inferred.
struct One {
  Graph g;
  Node n;
  One(std::string op, const std::vector<Shape>& operands, std::map<std::string, Attr> attrs) {
    n.op = std::move(op), n.name = "n", n.attrs = std::move(attrs);
    for (const Shape& s : operands) n.in.push_back(g.add_value("x", DType::f32, s));
    n.out = {g.add_value("y", DType::f32, {})};
    op_of(n).infer(g, n);
  }
  const Shape& shape() const { return g[n.out[0]].shape; }
  Floats eval(const std::vector<Floats>& operands) const {
    std::vector<const float*> in;
    for (const Floats& f : operands) in.push_back(f.data());
    Floats out(size_t(elements(shape())));
    float* y = out.data();
    op_of(n).eval({g, n, in, std::span<float* const>(&y, 1)});
    return out;
  }
};

Floats ramp(int n) {
  Floats f;
  for (int i = 0; i < n; i++) f.push_back(float(i));
  return f;
}

using Ints = std::vector<int64_t>;

TEST_CASE("every operator has what the passes call") {
  for (const Op* op : all_ops()) {
    CAPTURE(op->name);
    for (const Claim& c : op->claims) CHECK(bool(c.legalize));
    if (!op->infer) {  // claims only: its ATen nodes become constants of the graph
      CHECK_FALSE(op->claims.empty());
      CHECK(op->kernels.empty());
      continue;
    }
    CHECK(bool(op->eval));
    CHECK(bool(op->lower));
    CHECK((op->alias || !op->kernels.empty()));
    for (const KernelRow& row : op->kernels) CHECK(row.id == kernel_id(std::string(row.function).c_str()));
  }
}

TEST_CASE("add and mul broadcast") {
  const One add("add", {{2, 3}, {1, 3}}, {{"a_coef", 1.0}, {"b_coef", -2.0}});
  CHECK(add.shape() == Shape{2, 3});
  CHECK(add.eval({ramp(6), {1, 0, 2}}) == Floats{-2, 1, -2, 1, 4, 1});
  const One mul("mul", {{2, 1}, {1, 3}}, {{"clamp_hi", 3.0}});
  CHECK(mul.eval({{1, 2}, {1, 2, 3}}) == Floats{1, 2, 3, 2, 3, 3});
  CHECK_THROWS_AS(One("add", {{2, 3}, {2, 2}}, {}), Error);
}

TEST_CASE("lut chains its stages and knows what it is") {
  using Texts = std::vector<std::string>;
  using Reals = std::vector<double>;
  One lut("lut", {{5}}, {{"fns", Texts{"mul_scalar", "add_scalar", "clamp"}}, {"args", Reals{2, 0, 1, 0, 0, 6}}});
  CHECK(lut.eval({{-2, -0.5, 0, 1, 4}}) == Floats{0, 0, 1, 3, 6});
  CHECK_FALSE(op_of(lut.n).as_clamp(lut.n));
  const One relu6("lut", {{2, 3}},
                  {{"fns", Texts{"clamp", "clamp"}}, {"args", Reals{0, std::numeric_limits<double>::infinity(), -1, 6}}});
  const auto clamp = op_of(relu6.n).as_clamp(relu6.n);
  REQUIRE(clamp);
  CHECK(clamp->lo == 0);
  CHECK(clamp->hi == 6);
  const One line("lut", {{2, 3}}, {{"fns", Texts{"add_scalar", "mul_scalar"}}, {"args", Reals{1, 0, 3, 0}}});
  const auto affine = op_of(line.n).as_affine(line.g, line.n);
  REQUIRE(affine);
  CHECK(affine->scale == Floats{3, 3, 3});
  CHECK(affine->shift == Floats{3, 3, 3});
  const One sigmoid("lut", {{1}}, {{"fns", Texts{"sigmoid"}}, {"args", Reals{0, 0}}});
  CHECK(op_of(sigmoid.n).fixed_quant(sigmoid.n)->zero[0] == -128);
  CHECK_THROWS_AS(One("lut", {{1}}, {{"fns", Texts{"nonsense"}}, {"args", Reals{0, 0}}}), Error);
}

TEST_CASE("a clamp after a clamp") {
  One mul("mul", {{3}, {3}}, {});
  const Op& op = op_of(mul.n);
  CHECK(op.absorb_clamp(mul.g, mul.n, {0, 6}));
  CHECK(op.absorb_clamp(mul.g, mul.n, {7, 8}));  // all of 0 ... 6 becomes 7
  CHECK(mul.eval({{-1, 2, 9}, {1, 1, 1}}) == Floats{7, 7, 7});
}

TEST_CASE("prelu and affine by channel, in both orders") {
  const std::vector<double> two = {0.5, 2};
  const One prelu("prelu", {{1, 2, 2}}, {{"slopes", two}});
  CHECK(prelu.eval({{-1, 1, -1, 3}}) == Floats{-0.5, 1, -2, 3});
  const One affine("affine", {{1, 2, 2}}, {{"scale", two}, {"shift", std::vector<double>{0, 1}}});
  CHECK(affine.eval({{1, 2, 3, 4}}) == Floats{0.5, 1, 7, 9});
  CHECK(One("affine", {{1, 9, 2}}, {{"scale", two}, {"shift", two}, {"layout", "nhwc"}}).shape() == Shape{1, 9, 2});
  CHECK_THROWS_AS(One("affine", {{1, 9, 2}}, {{"scale", two}, {"shift", two}}), Error);
}

std::map<std::string, Attr> window(Ints kernel, Ints stride, Ints before, Ints after) {
  const Ints ones(kernel.size(), 1);
  return {{"kernel", kernel}, {"stride", stride}, {"pad_before", before}, {"pad_after", after}, {"dilation", ones}};
}

TEST_CASE("pooling") {
  const One max("max_pool", {{1, 1, 2, 3}}, window({2, 2}, {1, 1}, {0, 0}, {0, 0}));
  CHECK(max.shape() == Shape{1, 1, 1, 2});
  CHECK(max.eval({ramp(6)}) == Floats{4, 5});
  auto attrs = window({3}, {2}, {1}, {2});  // the last zero behind comes from ceil_mode and does not count
  attrs["count_include_pad"] = true, attrs["pad_counted"] = Ints{1};
  const One avg("avg_pool", {{1, 1, 4}}, attrs);
  CHECK(avg.eval({{3, 3, 6, 6}}) == Floats{2, 5, 3});
  attrs["count_include_pad"] = false;
  CHECK(One("avg_pool", {{1, 1, 4}}, attrs).eval({{3, 3, 6, 6}}) == Floats{3, 5, 6});
  const One adaptive("avg_pool", {{1, 1, 5}}, {{"adaptive", Ints{2}}});
  CHECK(adaptive.eval({ramp(5)}) == Floats{1, 3});
  attrs = window({2, 1}, {2, 1}, {0, 0}, {0, 0}), attrs["layout"] = "nhwc";
  CHECK(One("max_pool", {{1, 4, 5, 7}}, attrs).shape() == Shape{1, 2, 5, 7});
  CHECK_THROWS_AS(One("max_pool", {{1, 1, 2, 3}}, window({5, 5}, {1, 1}, {0, 0}, {0, 0})), Error);
}

TEST_CASE("mean over dims, and where they go when operand 0 is permuted") {
  One mean("mean", {{2, 3, 4}}, {{"dims", Ints{0, 2}}});
  CHECK(mean.shape() == Shape{3});
  CHECK(mean.eval({ramp(24)}) == Floats{7.5, 11.5, 15.5});
  op_of(mean.n).permute(mean.n, {2, 0, 1});
  CHECK(mean.n.ints("dims") == Ints{0, 1});
  CHECK(mean.n.ints("out_perm") == Ints{0});
  One one("mean", {{2, 3, 4, 5}}, {{"dims", Ints{1}}});
  op_of(one.n).permute(one.n, {0, 2, 3, 1});
  CHECK(one.n.ints("dims") == Ints{3});
  CHECK(one.n.ints("out_perm") == Ints{0, 1, 2});
  One inner("mean", {{2, 3, 4, 5}}, {{"dims", Ints{3}}});
  op_of(inner.n).permute(inner.n, {0, 2, 3, 1});
  CHECK(inner.n.ints("out_perm") == Ints{0, 2, 1});
  One kept("mean", {{2, 3, 4}}, {{"dims", Ints{1}}, {"keepdim", true}, {"sum", true}});
  CHECK(kept.shape() == Shape{2, 1, 4});
  CHECK(kept.eval({ramp(24)}) == Floats{12, 15, 18, 21, 48, 51, 54, 57});
  op_of(kept.n).permute(kept.n, {0, 2, 1});
  CHECK_FALSE(kept.n.has("out_perm"));
}

TEST_CASE("softmax adds up along its dim") {
  One softmax("softmax", {{2, 2}}, {{"dim", int64_t(0)}});
  const Floats y = softmax.eval({{0, 5, 0, 5 + std::log(3.0f)}});
  CHECK(y[0] == doctest::Approx(0.5));
  CHECK(y[3] == doctest::Approx(0.75));
  op_of(softmax.n).permute(softmax.n, {1, 0});
  CHECK(softmax.n.integer("dim") == 1);
}

TEST_CASE("data movement") {
  const One concat("concat", {{2, 1}, {2, 2}}, {{"dim", int64_t(1)}});
  CHECK(concat.eval({{1, 2}, {3, 4, 5, 6}}) == Floats{1, 3, 4, 2, 5, 6});
  CHECK_THROWS_AS(One("concat", {{2, 1}, {3, 2}}, {{"dim", int64_t(1)}}), Error);
  const One transpose("transpose", {{2, 3}}, {{"perm", Ints{1, 0}}});
  CHECK(transpose.eval({ramp(6)}) == Floats{0, 3, 1, 4, 2, 5});
  CHECK_THROWS_AS(One("transpose", {{2, 3}}, {{"perm", Ints{1, 1}}}), Error);
  CHECK(One("view", {{2, 3}}, {{"shape", Ints{6}}}).shape() == Shape{6});
  CHECK_THROWS_AS(One("view", {{2, 3}}, {{"shape", Ints{5}}}), Error);
  One slice("slice", {{2, 3}}, {{"dim", int64_t(1)}, {"start", int64_t(2)}, {"step", int64_t(-2)}, {"count", int64_t(2)}});
  CHECK(slice.eval({ramp(6)}) == Floats{2, 0, 5, 3});
  One select("slice", {{2, 3}}, {{"dim", int64_t(0)}, {"start", int64_t(1)}, {"count", int64_t(1)}, {"drop", true}});
  CHECK(select.shape() == Shape{3});
  CHECK(select.eval({ramp(6)}) == Floats{3, 4, 5});
  op_of(select.n).permute(select.n, {1, 0});
  CHECK(select.n.integer("dim") == 1);
  CHECK(select.n.ints("out_perm") == Ints{0});
  CHECK_THROWS_AS(One("slice", {{2, 3}}, {{"dim", int64_t(1)}, {"start", int64_t(2)}, {"count", int64_t(2)}}), Error);
}

TEST_CASE("pads of every mode, and what they absorb") {
  const auto pad = [](const char* mode, Ints before, Ints after) {
    return One("pad", {{1, 3}}, {{"mode", mode}, {"value", 9.0}, {"before", before}, {"after", after}});
  };
  CHECK(pad("constant", {1, 1}, {0, -1}).eval({{1, 2, 3}}) == Floats{9, 9, 9, 9, 1, 2});
  CHECK(pad("reflect", {0, 2}, {0, 1}).eval({{1, 2, 3}}) == Floats{3, 2, 1, 2, 3, 2});
  CHECK(pad("replicate", {0, 2}, {0, 1}).eval({{1, 2, 3}}) == Floats{1, 1, 1, 2, 3, 3});
  CHECK(pad("circular", {0, 2}, {0, 1}).eval({{1, 2, 3}}) == Floats{2, 3, 1, 2, 3, 1});
  CHECK_THROWS_AS(pad("reflect", {0, 3}, {0, 0}), Error);
  One zeros("pad", {{1, 3}}, {{"mode", "constant"}, {"value", 0.0}, {"before", Ints{0, 1}}, {"after", Ints{2, 0}}});
  CHECK(op_of(zeros.n).absorb_padding(zeros.g, zeros.n, {{1, 0}, {0, 3}}));
  CHECK(zeros.n.ints("before") == Ints{1, 1});
  CHECK(zeros.n.ints("after") == Ints{2, 3});
  op_of(zeros.n).permute(zeros.n, {1, 0});
  CHECK(zeros.n.ints("after") == Ints{3, 2});
  const One nines = pad("constant", {0, 1}, {0, 0});
  CHECK_FALSE(op_of(nines.n).as_padding(nines.g, nines.n));
}

TEST_CASE("nearest resize") {
  const One twice("resize", {{1, 1, 1, 2}}, {{"size", Ints{2, 4}}, {"scale", std::vector<double>{0.5, 0.5}}});
  CHECK(twice.eval({{1, 2}}) == Floats{1, 1, 2, 2, 1, 1, 2, 2});
  CHECK(One("resize", {{1, 4, 5}}, {{"size", Ints{8}}, {"scale", std::vector<double>{0.5}}, {"layout", "nhwc"}}).shape() ==
        Shape{1, 8, 5});
}

TEST_CASE("quantise and dequantise as PyTorch does") {
  const std::map<std::string, Attr> scale = {{"scale", 0.5}, {"zero", int64_t(3)}, {"lo", int64_t(-128)}, {"hi", int64_t(127)}};
  const One quantize("quantize", {{5}}, scale), dequantize("dequantize", {{5}}, scale);
  CHECK(quantize.g[quantize.n.out[0]].dtype == DType::i8);
  const Floats q = quantize.eval({{0.25, 0.75, -0.25, 1000, -1000}});  // ties to even before the zero point
  CHECK(q == Floats{3, 5, 3, 127, -128});
  CHECK(dequantize.eval({q}) == Floats{0, 1, 0, 62, -65.5});
}

}  // namespace
}  // namespace corten
