#include <doctest/doctest.h>
#include <string.h>

#include <functional>
#include <limits>

#include "ir/graph.h"
#include "test/diag_text.h"

using namespace corten;

namespace {

// The message, place and help of what f throws; "" if it does not.
std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return told(e.diag);
  }
  return "";
}

std::string parse_refusal(std::string_view text) {
  return refusal([&] { parse(text, "bad.ir"); });
}

std::string verify_refusal(
    std::string_view text, const std::function<void(Graph&)>& damage = [](Graph&) {}) {
  Graph g = parse(text, "bad.ir");
  damage(g);
  return refusal([&] { verify(g); });
}

constexpr std::string_view kSmall = R"ir(graph {
  input %x: f32[1, 4]
  const %w: f32[2, 4] = [1.0, 2.5, -3.0, 0.1, 1e-07, inf, -0.0, 3.4028235e+38]
  %y: f32[1, 2] = linear(%x, %w, none)
  return %y
}
)ir";

constexpr std::string_view kRich =
    R"ir(graph {
  input %x: i8[1, 1, 4, 4] q(0.05, -128)
  input %"odd name": f32[1, 2] perm [1, 0]
  const %w: i8[2, 1, 3, 3] q([0.1, 0.30000000000000004], 0, axis = 0, range = [-127, 127]) = splat(-7)
  const %z0: i32[9] = splat(0)
  const %b: i32[2] = [-2147483648, 2147483647]
  const %n: i64[1] = [-9223372036854775808]
  const %0.e: f32[0] = []
  const %u: u8[2] q([0.5, 0.25], [3, -4], axis = 0) = [0, 255]
  const %d: f64[1] = [0.1]
  %y: i8[1, 2, 2, 2] q(0.125, 3) = conv2d(%x, %w, %b))ir"
    R"ir( {pads = [0, 0, 0, 0], stride = [1, 1]} from aten.conv2d.default as conv_1)ir"
    R"ir(  @ "models.py":38 in forward module layers.0.conv "x = self.conv(\"a\\b\")"
  %s: i8[1, 1, 2, 2], none, %t: i8[1, 1, 2, 2] = aten.split.Tensor(self = %y, rest = none))ir"
    R"ir( {alpha = 1.0, beta = inf, empty = [], flag = true, gamma = -1e-05, "key word" = false, none = floats [],)ir"
    R"ir( ratios = [0.5, 2.0], split_size = 1, texts = ["a", "b\n\x01"], words = strings []}
  () = aten.check.default(self = %s)
  %z: i8[2] = use(%z0, %n, %0.e, %u, %d, %"odd name")  @ "" module 0.a
  return %t, %t perm [0, 2, 3, 1], %x, %w
}
)ir";

}  // namespace

TEST_CASE("print, parse, print is the identity") {
  for (std::string_view text : {kSmall, kRich}) {
    const Graph g = parse(text);
    CHECK(print(g) == text);
    CHECK(print(parse(print(g))) == text);
  }
  verify(parse(kSmall));
}

TEST_CASE("parse gives the graph that the text says") {
  const Graph g = parse(kRich);
  REQUIRE(g.nodes.size() == 4);
  const Node& conv = g.nodes[0];
  CHECK(conv.op == "conv2d");
  CHECK(conv.aten == "aten.conv2d.default");
  CHECK(conv.name == "conv_1");
  CHECK(conv.where.file == "models.py");
  CHECK(conv.where.line == 38);
  CHECK(conv.where.function == "forward");
  CHECK(conv.where.module == "layers.0.conv");
  CHECK(conv.where.text == "x = self.conv(\"a\\b\")");
  CHECK(conv.ints("stride") == std::vector<int64_t>{1, 1});
  const Node& split = g.nodes[1];
  CHECK(split.aten == split.op);
  CHECK(split.name == "s");
  CHECK(split.in == std::vector<ValueId>{conv.out[0], kNone});
  CHECK(split.in_names == std::vector<std::string>{"self", "rest"});
  CHECK(split.out.size() == 3);
  CHECK(split.out[1] == kNone);
  CHECK(split.real("beta") == std::numeric_limits<double>::infinity());
  CHECK(split.real("split_size") == 1.0);
  CHECK(split.reals("ratios") == std::vector<double>{0.5, 2.0});
  CHECK(split.flag("flag"));
  CHECK_FALSE(split.flag("key word"));
  CHECK(split.texts("texts") == std::vector<std::string>{"a", "b\n\x01"});
  CHECK(std::get<std::vector<double>>(split.attrs.at("none")).empty());
  CHECK(std::get<std::vector<int64_t>>(split.attrs.at("empty")).empty());
  const Value& w = g[conv.in[1]];
  REQUIRE(w.quant);
  CHECK(*w.quant == Quant{{0.1, 0.30000000000000004}, {0, 0}, 0, -127, 127});
  CHECK(w.data->as<int8_t>()[17] == -7);
}

TEST_CASE("comments and layout are free; random is reproducible and bounded") {
  const Graph g = parse(
      "graph{ // a comment\n const %a:f32[100]=random(7) const %b:f32[100]=random(7)\nconst %c:f32[100]=random(8)\n"
      "const %d:i8[1000]=random(1) const %e: b8[40] = random(2)return%a,%b,%c,%d,%e}");
  auto data = [&](int i) { return g[g.outputs[size_t(i)]].data; };
  CHECK(data(0)->bytes == data(1)->bytes);
  CHECK(data(0)->bytes != data(2)->bytes);
  for (int i = 0; i < 100; i++) CHECK(std::abs(data(0)->as<float>()[i]) <= 1.0f);
  for (int i = 0; i < 1000; i++) CHECK(data(3)->as<int8_t>()[i] >= -127);
  for (int i = 0; i < 40; i++) CHECK(data(4)->as<uint8_t>()[i] <= 1);
  const std::string text = print(g);
  CHECK(text.find("const %a: f32[100] = crc32(") != std::string::npos);
  CHECK(parse_refusal(text).find("error: the data of this constant is not in the text, only its checksum\n") == 0);
}

TEST_CASE("unused constants do not print") {
  Graph g = parse(kSmall);
  g.add_constant("spare", make_tensor({1}, {1.0f}));
  CHECK(print(g) == kSmall);
}

TEST_CASE("parse refuses with a place") {
  CHECK(parse_refusal("grap {}") == "error: expected 'graph', found 'grap'\n  --> bad.ir:1: grap {}");
  CHECK(parse_refusal("graph {\n  input %x: f32[1]\n  %y: f32[1] = relu(%z)\n  return %y\n}\n") ==
        "error: %z is not defined before this line\n  --> bad.ir:3: %y: f32[1] = relu(%z)");
  CHECK(parse_refusal("graph {\n  %y: f32[1] = relu(%y)\n  return %y\n}\n") ==
        "error: %y is not defined before this line\n  --> bad.ir:2: %y: f32[1] = relu(%y)");
  CHECK(parse_refusal("graph {\n  input %x: f32[1]\n  input %x: f32[1]\n return %x }") ==
        "error: the name %x is already taken\n  --> bad.ir:3: input %x: f32[1]");
  CHECK(parse_refusal("graph {\n  input %x: f33[1]\n return %x }") ==
        "error: unknown type 'f33'\n  --> bad.ir:2: input %x: f33[1]\n"
        "  help: types are f32, i8, i32, i64, u8, i16, b8, f64, f16 and bf16");
  CHECK(parse_refusal("graph {\n  const %x: f32[3] = [1, 2]\n return %x }") ==
        "error: 2 elements for shape [3], which has 3\n  --> bad.ir:2: const %x: f32[3] = [1, 2]");
  CHECK(parse_refusal("graph {\n  const %x: i8[1] = [300]\n return %x }") ==
        "error: '300' is out of range\n  --> bad.ir:2: const %x: i8[1] = [300]");
  CHECK(parse_refusal("graph {\n  input %x: f32[1]\n") ==
        "error: expected 'return' and '}' before the end of the text\n  --> bad.ir:3");
  CHECK(parse_refusal("graph {\n  input %x: f32[-1]\n return %x }").find("error: [-1] is out of range") == 0);
  CHECK(parse_refusal("graph {\n  input %x: f32[99999999, 99999999, 9999999]\n return %x }").find("is out of range") !=
        std::string::npos);
  CHECK(parse_refusal("graph {\n  input %\"x: f32[1]\n return %x }").find("error: a string has no closing quote") == 0);
  CHECK(parse_refusal("graph { input %x: f32[1] return %x } more").find("error: expected the end of the text") == 0);
}

TEST_CASE("parse survives every truncation and every changed byte") {
  for (size_t i = 0; i < kRich.size(); i++) {
    CHECK((parse_refusal(kRich.substr(0, i)) != "" || i + 1 == kRich.size()));
    for (char c : {'%', '"', '[', '9', '\\', '\n', 'e'}) {
      std::string text(kRich);
      text[i] = c;
      parse_refusal(text);
    }
  }
}

TEST_CASE("verify says what is wrong") {
  const Location place{"m.py", 3, "forward", "x.relu()", "", ""};
  CHECK(verify_refusal(kSmall) == "");
  CHECK(verify_refusal(kSmall, [&](Graph& g) {
          g.nodes[0].where = place;
          g.nodes.push_back(g.nodes[0]);
        }) == "error: two nodes are named y\n  --> m.py:3 in forward: x.relu()\n  node y, in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) { g.values[0].name = "y"; }) == "error: two values are named %y\n  in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) { g.nodes[0].in[0] = 77; }) ==
        "error: an operand names no value of the graph (77)\n  node y, in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) { g.nodes[0].in[0] = g.nodes[0].out[0]; }) ==
        "error: operand %y is not computed before this node\n  node y, in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) { g.nodes[0].out[0] = g.inputs[0]; }) ==
        "error: result %x is already defined\n  node y, in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) { g.nodes.clear(); }) == "error: output %y is never computed\n  in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) { g.outputs.clear(); }) == "error: the graph returns nothing\n  in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) {
          g.values[1].shape = {4, 2};
        }) == "error: %w is f32[4, 2], but its data is f32[2, 4]\n  in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) {
          g.values[0].quant = Quant{{0.0}, {0}};
        }) == "error: a scale of %x is not a positive number\n  in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) {
          g.values[0].quant = Quant{{1.0}, {200}};
        }) == "error: zero point 200 of %x is outside -128..127\n  in bad.ir");
  CHECK(verify_refusal(kSmall, [](Graph& g) {
          g.values[0].quant = Quant{{1.0}, {0}, 1};
        }) == "error: %x has 1 scales and 1 zero points; it takes 4\n  in bad.ir");
}

TEST_CASE("graph helpers") {
  Graph g = parse(kSmall);
  CHECK(g.producer(g.outputs[0]) == 0);
  CHECK(g.producer(g.inputs[0]) == -1);
  CHECK(g.users(g.inputs[0]) == std::vector<int>{0});
  CHECK(g.is_output(g.outputs[0]));
  const ValueId again = g.add_value("y", DType::f32, {1, 2});
  CHECK(g[again].name == "y_2");
  Node relu;
  relu.op = "relu", relu.name = "dead", relu.in = {g.outputs[0]}, relu.out = {again};
  g.nodes.push_back(relu);
  g.remove_dead();
  CHECK(g.nodes.size() == 1);
  g.replace_uses(g.outputs[0], again);
  CHECK(g.outputs[0] == again);

  const auto t = make_tensor({2, 3}, {0, 1, 2, 3, 4, 5});
  const auto u = transposed(*t, {1, 0});
  CHECK(u->shape == Shape{3, 2});
  const float want[] = {0, 3, 1, 4, 2, 5};
  CHECK(memcmp(u->bytes.data(), want, sizeof want) == 0);
  CHECK(elements({}) == 1);
  CHECK(elements({3, 0}) == 0);
}
