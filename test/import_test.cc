#include "compiler/import.h"

#include <doctest/doctest.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/stack_trace.h"
#include "test/diag_text.h"
#include "test/zip_file.h"

using namespace corten;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

json sizes_of(const std::vector<int64_t>& v) {
  json j = json::array();
  for (int64_t n : v) j.push_back({{"as_int", n}});
  return j;
}

json meta(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides = {}, int dtype = 7, int64_t offset = 0) {
  std::vector<int64_t> s = strides;
  if (s.empty()) {
    s.assign(sizes.size(), 1);
    for (size_t i = s.size(); i-- > 1;) s[i - 1] = s[i] * sizes[i];
  }
  return {{"dtype", dtype},
          {"sizes", sizes_of(sizes)},
          {"requires_grad", false},
          {"device", {{"type", "cpu"}, {"index", nullptr}}},
          {"strides", sizes_of(s)},
          {"storage_offset", {{"as_int", offset}}},
          {"layout", 7}};
}

// Braces around one json would copy it instead of making a list.
json list(const std::vector<json>& items) { return items; }

json tensor(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }

json argument(const std::string& name, const json& arg) { return {{"name", name}, {"arg", arg}, {"kind", 1}}; }

json node(const std::string& name, const std::string& op, const std::vector<json>& inputs, const std::vector<json>& outputs) {
  return {{"target", "torch.ops." + op},
          {"inputs", inputs},
          {"outputs", outputs},
          {"metadata",
           {{"stack_trace",
             "File \"net.py\", line 12, in forward\n    y = self.fc(x)\n"
             "  File \"/v/site-packages/torch/nn/modules/linear.py\", line 125, in forward\n    return F.linear(input)"},
            {"nn_module_stack", "L__self__,,net.Net;L__self___fc,fc,torch.nn.modules.linear.Linear"}}},
          {"name", name}};
}

// A .pt2 in parts, to be spoilt one by one: relu(linear(x, fc.weight, fc.bias)).
struct Model {
  json program, weights, constants = {{"config", json::object()}};
  std::map<std::string, std::string> files;  // further entries, below the root
  bool deflate = false;

  Model() {
    json graph;
    graph["inputs"] = list({tensor("p_fc_weight"), tensor("p_fc_bias"), tensor("x")});
    graph["outputs"] = list({tensor("relu")});
    graph["nodes"] = list(
        {node("linear", "aten.linear.default",
              {argument("input", tensor("x")), argument("weight", tensor("p_fc_weight")), argument("bias", tensor("p_fc_bias"))},
              {tensor("linear")}),
         node("relu", "aten.relu.default", {argument("self", tensor("linear"))}, {tensor("relu")})});
    graph["tensor_values"] = {{"p_fc_weight", meta({2, 3})},
                              {"p_fc_bias", meta({2})},
                              {"x", meta({1, 3})},
                              {"linear", meta({1, 2})},
                              {"relu", meta({1, 2})}};
    json signature;
    signature["input_specs"] = list({{{"parameter", {{"arg", {{"name", "p_fc_weight"}}}, {"parameter_name", "fc.weight"}}}},
                                     {{"parameter", {{"arg", {{"name", "p_fc_bias"}}}, {"parameter_name", "fc.bias"}}}},
                                     {{"user_input", {{"arg", tensor("x")}}}}});
    signature["output_specs"] = json::array({{{"user_output", {{"arg", tensor("relu")}}}}});
    program["graph_module"] = {{"graph", graph}, {"signature", signature}};
    program["schema_version"] = {{"major", 8}, {"minor", 20}};
    program["torch_version"] = "2.13.0";
    weights["config"] = {
        {"fc.weight", {{"path_name", "weight_0"}, {"is_param", true}, {"use_pickle", false}, {"tensor_meta", meta({2, 3})}}},
        {"fc.bias", {{"path_name", "weight_1"}, {"is_param", true}, {"use_pickle", false}, {"tensor_meta", meta({2})}}}};
    set_floats("data/weights/weight_0", {1, 2, 3, 4, 5, 6});
    set_floats("data/weights/weight_1", {0.5f, -0.5f});
    files["archive_format"] = "pt2";
    files["byteorder"] = "little";
  }

  json& graph() { return program["graph_module"]["graph"]; }
  json& nodes() { return graph()["nodes"]; }
  json& signature() { return program["graph_module"]["signature"]; }
  json& weight_meta() { return weights["config"]["fc.weight"]["tensor_meta"]; }
  void set_floats(const std::string& name, const std::vector<float>& v) {
    files[name] = std::string(reinterpret_cast<const char*>(v.data()), v.size() * 4);
  }

  void save(const std::string& path, const std::string& root = "net/") const {
    std::map<std::string, std::string> all = files;
    all.emplace("models/model.json", program.dump());
    all.emplace("data/weights/model_weights_config.json", weights.dump());
    all.emplace("data/constants/model_constants_config.json", constants.dump());
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto& [name, data] : all) entries.emplace_back(root + name, data);
    write_zip(path, entries, deflate);
  }
};

struct Folder {
  fs::path path = fs::temp_directory_path() / ("corten_import_test_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

// All messages of importing `path`, the path itself shown as its last part; "" if it imports.
std::string refusal(const std::string& path) {
  std::string s;
  try {
    import_pt2(path);
    return "";
  } catch (const Error& e) {
    s = told(e.diag);
  } catch (const Errors& e) {
    for (const Diag& d : e.diags) s += told(d) + "\n";
  }
  const std::string folder = fs::path(path).parent_path().string() + "/";
  for (size_t at; (at = s.find(folder)) != std::string::npos;) s.erase(at, folder.size());
  return s;
}

std::string refusal(const Model& m) {
  const Folder folder;
  m.save(folder / "net.pt2");
  return refusal(folder / "net.pt2");
}

std::string text(const Model& m) {
  const Folder folder;
  m.save(folder / "net.pt2");
  return print(import_pt2(folder / "net.pt2"));
}

bool starts(const std::string& s, const std::string& begin) {
  if (s.starts_with(begin)) return true;
  MESSAGE(s);
  return false;
}

constexpr char kPlace[] = "\n  --> net.py:12 in forward: y = self.fc(x)\n  node relu, aten.relu.default, module fc, in net.pt2";

constexpr char kGood[] = R"ir(graph {
  input %x: f32[1, 3]
  const %fc.weight: f32[2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  const %fc.bias: f32[2] = [0.5, -0.5]
  %linear: f32[1, 2] = aten.linear.default(input = %x, weight = %fc.weight, bias = %fc.bias))ir"
                         R"ir(  @ "net.py":12 in forward module fc "y = self.fc(x)"
  %relu: f32[1, 2] = aten.relu.default(self = %linear)  @ "net.py":12 in forward module fc "y = self.fc(x)"
  return %relu
}
)ir";

}  // namespace

TEST_CASE("a program as torch.export writes it, stored and deflated") {
  Model m;
  CHECK(text(m) == kGood);
  m.deflate = true;
  CHECK(text(m) == kGood);
  const Folder folder;
  m.save(folder / "net.pt2", "");  // repacked without its folder
  CHECK(print(import_pt2(folder / "net.pt2")) == kGood);
  m.save(folder / "net.pt2", "a/b/");
  CHECK(print(import_pt2(folder / "net.pt2")) == kGood);
}

TEST_CASE("weights: strides, offsets, shared storages, types") {
  Model m;
  m.weight_meta() = meta({2, 3}, {1, 2});  // transposed
  CHECK(text(m).find("fc.weight: f32[2, 3] = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]") != std::string::npos);
  m.weight_meta() = meta({2, 3}, {0, 1}, 7, 3);  // expanded, with an offset
  CHECK(text(m).find("fc.weight: f32[2, 3] = [4.0, 5.0, 6.0, 4.0, 5.0, 6.0]") != std::string::npos);
  m.weights["config"]["fc.bias"]["path_name"] = "weight_0";  // both in one storage
  m.weights["config"]["fc.bias"]["tensor_meta"] = meta({2}, {5});
  CHECK(text(m).find("fc.bias: f32[2] = [1.0, 6.0]") != std::string::npos);
  m = Model();
  m.weight_meta() = meta({2, 3}, {}, 6);
  const uint16_t half[] = {0x3c00, 0xbc00, 0x3800, 0, 1, 0x7bff};
  m.files["data/weights/weight_0"] = std::string(reinterpret_cast<const char*>(half), sizeof half);
  CHECK(text(m).find("fc.weight: f32[2, 3] = [1.0, -1.0, 0.5, 0.0, 5.9604645e-08, 65504.0]") != std::string::npos);
  m.weight_meta() = meta({2, 3}, {}, 13);
  const uint16_t bfloat[] = {0x3f80, 0xbf80, 0x3f00, 0, 0x4049, 0x7f7f};
  m.files["data/weights/weight_0"] = std::string(reinterpret_cast<const char*>(bfloat), sizeof bfloat);
  CHECK(text(m).find("fc.weight: f32[2, 3] = [1.0, -1.0, 0.5, 0.0, 3.140625, 3.3895314e+38]") != std::string::npos);
  m.weight_meta() = meta({2, 3}, {}, 2);
  m.files["data/weights/weight_0"] = std::string("\1\2\3\xff\x80\x7f", 6);
  CHECK(text(m).find("fc.weight: i8[2, 3] = [1, 2, 3, -1, -128, 127]") != std::string::npos);
}

TEST_CASE("weights: one tensor for two names") {
  Model m;
  m.weights["config"]["fc.bias"] = m.weights["config"]["fc.weight"];
  m.graph()["tensor_values"]["p_fc_bias"] = meta({2, 3});
  const Folder folder;
  m.save(folder / "net.pt2");
  const Graph g = import_pt2(folder / "net.pt2");
  REQUIRE(g.nodes[0].in.size() == 3);
  CHECK(g[g.nodes[0].in[1]].data == g[g.nodes[0].in[2]].data);
}

TEST_CASE("weights: refusals") {
  Model m;
  m.weight_meta() = meta({2, 3}, {3, 2});
  CHECK(refusal(m) ==
        "error: the data of 'fc.weight' is too short: 6 elements are there, sizes [2, 3] and strides [3, 2] ask for element 7\n"
        "  --> net.py:12 in forward: y = self.fc(x)\n  node linear, aten.linear.default, module fc, in net.pt2");
  m.weight_meta() = meta({2, 3}, {}, 7, 1);
  CHECK(starts(refusal(m), "error: the data of 'fc.weight' is too short"));
  m.weight_meta() = meta({2, 3}, {}, 7, -1);
  CHECK(starts(refusal(m), "error: 'fc.weight' has sizes [2, 3], strides [3, 1] and offset -1"));
  m.weight_meta() = meta({2, 3}, {-3, 1}, 7, 3);
  CHECK(starts(refusal(m), "error: 'fc.weight' has sizes [2, 3], strides [-3, 1] and offset 3"));
  m.weight_meta() = meta({2, 3}, {int64_t{1} << 60, 1});
  CHECK(starts(refusal(m), "error: the data of 'fc.weight' is too short"));
  m.weight_meta() = meta({2, 3}, {std::numeric_limits<int64_t>::max(), 2}, 7, 5);
  CHECK(starts(refusal(m), "error: 'fc.weight' has sizes"));
  m.weight_meta() = meta({-2, 3});
  CHECK(starts(
      refusal(m),
      "error: 'net/data/weights/model_weights_config.json' at config.fc.weight.tensor_meta.sizes[0]: the size -2 is negative"));
  m.weight_meta() = meta({int64_t{1} << 40, int64_t{1} << 40}, {0, 0});
  CHECK(refusal(m).find("the tensor is too large") != std::string::npos);
  m.weight_meta() = meta({3, 2});
  CHECK(refusal(m).find("'fc.weight' is [2, 3] in the program, but [3, 2] in the archive") != std::string::npos);
  m.weight_meta() = meta({2, 3}, {}, 10);
  CHECK(refusal(m).find("the type complex64 is not supported") != std::string::npos);
  m.weight_meta() = meta({2, 3}, {}, 99);
  CHECK(refusal(m).find("the type number 99 is not supported") != std::string::npos);
  m.weight_meta() = meta({2, 3});
  m.weight_meta()["layout"] = 1;
  CHECK(refusal(m).find("only strided (dense) tensors are supported") != std::string::npos);
  m.weight_meta().erase("layout");
  m.weight_meta().erase("dtype");
  CHECK(refusal(m).find("config.fc.weight.tensor_meta: 'dtype' is missing") != std::string::npos);
  m.weight_meta() = nullptr;
  CHECK(starts(refusal(m), "error: 'fc.weight' is not a tensor"));
  m = Model();
  m.weights["config"].erase("fc.bias");
  CHECK(starts(refusal(m), "error: the archive holds no data for 'fc.bias'\n"));
  m = Model();
  m.files.erase("data/weights/weight_1");
  CHECK(starts(refusal(m), "error: the data of 'fc.bias' is missing: the archive has no entry 'net/data/weights/weight_1'\n"));
  m = Model();
  m.set_floats("data/weights/weight_0", {1, 2, 3, 4, std::numeric_limits<float>::quiet_NaN(), 6});
  CHECK(starts(refusal(m), "error: 'fc.weight' holds NaN at [1, 1]\n  --> net.py:12"));
  m.set_floats("data/weights/weight_0", {1, 2, -std::numeric_limits<float>::infinity(), 4, 5, 6});
  CHECK(starts(refusal(m), "error: 'fc.weight' holds infinity at [0, 2]\n"));
}

TEST_CASE("attributes of every kind") {
  Model m;
  m.nodes()[1]["inputs"] =
      list({argument("self", tensor("linear")), argument("bool", {{"as_bool", true}}),
            argument("int", {{"as_int", 9223372036854775807}}), argument("float", {{"as_float", "-Infinity"}}),
            argument("whole", {{"as_float", 2}}), argument("string", {{"as_string", "constant"}}),
            argument("ints", {{"as_ints", {1, -2}}}), argument("bools", {{"as_bools", {true, false}}}),
            argument("floats", {{"as_floats", {0.5, "Infinity"}}}), argument("strings", {{"as_strings", {"a", "b"}}}),
            argument("none", {{"as_none", true}}), argument("dtype", {{"as_scalar_type", 7}}),
            argument("format", {{"as_memory_format", 2}}), argument("layout", {{"as_layout", 7}}),
            argument("device", {{"as_device", {{"type", "cpu"}, {"index", nullptr}}}}),
            argument("size", {{"as_sym_int", {{"as_int", 4}}}}),
            argument("sizes", {{"as_sym_ints", {{{"as_int", 4}}, {{"as_int", 5}}}}}),
            argument("indices", {{"as_optional_tensors", {{{"as_none", true}}, tensor("x")}}}),
            argument("tensors", {{"as_tensors", {{{"name", "x"}}, {{"name", "linear"}}}}})});
  CHECK(text(m).find(
            "aten.relu.default(self = %linear, indices = none, indices = %x, tensors = %x, tensors = %linear) "
            "{bool = true, bools = [1, 0], dtype = 7, float = -inf, floats = [0.5, inf], format = 2, int = 9223372036854775807, "
            "ints = [1, -2], size = 4, sizes = [4, 5], string = \"constant\", strings = [\"a\", \"b\"], whole = 2.0}") !=
        std::string::npos);
}

TEST_CASE("outputs: several, none, lists; the same value, inputs and constants as outputs; asserts are dropped") {
  Model m;
  json& values = m.graph()["tensor_values"];
  values["a"] = values["b"] = values["c"] = meta({1, 2});
  m.nodes().push_back(node("many", "aten.many.default", {argument("self", tensor("relu"))},
                           {tensor("a"), {{"as_none", true}}, {{"as_tensors", {{{"name", "b"}}, {{"name", "c"}}}}}}));
  m.nodes().push_back(node("check", "aten._assert_tensor_metadata.default", {argument("a", tensor("relu"))}, {}));
  json& outputs = m.signature()["output_specs"];
  outputs.clear();
  for (const char* name : {"c", "c", "x", "p_fc_bias"}) outputs.push_back({{"user_output", {{"arg", tensor(name)}}}});
  outputs.push_back({{"user_output", {{"arg", {{"as_none", true}}}}}});
  const std::string s = text(m);
  CHECK(s.find("  %a: f32[1, 2], none, %b: f32[1, 2], %c: f32[1, 2] = aten.many.default(self = %relu) as many") !=
        std::string::npos);
  CHECK(s.find("return %c, %c, %x, %fc.bias\n") != std::string::npos);
  CHECK(s.find("_assert") == std::string::npos);
}

TEST_CASE("dynamic shapes: one message that says what to do") {
  Model m;
  m.graph()["tensor_values"]["x"]["sizes"][0] = {{"as_expr", {{"expr_str", "s77"}}}};
  const std::string help =
      "\n  help: export with static shapes: leave out dynamic_shapes, and give example inputs of the size the device will see";
  CHECK(refusal(m) == "error: dimension 0 of input 'x' is dynamic (s77)\n  in net.pt2" + help);
  m = Model();
  m.graph()["tensor_values"]["relu"]["sizes"][1] = {{"as_expr", {{"expr_str", "u0"}}}};
  CHECK(refusal(m) == std::string("error: the shape of the result is known only at run time (u0)") + kPlace +
                          "\n  help: avoid operators whose result's size depends on the data, such as nonzero or boolean indexing");
  m = Model();
  m.nodes()[1]["inputs"].push_back(argument("size", {{"as_sym_int", {{"as_name", "sym_size_int"}}}}));
  CHECK(refusal(m) == std::string("error: the argument 'size' is known only at run time") + kPlace + help);
  m.nodes()[1]["inputs"][1] = argument("size", {{"as_sym_ints", {{{"as_int", 1}}, {{"as_name", "s"}}}}});
  CHECK(starts(refusal(m), "error: the argument 'size' is known only at run time"));
  m = Model();
  m.signature()["input_specs"].push_back({{"user_input", {{"arg", {{"as_sym_int", {{"as_name", "s0"}}}}}}}});
  CHECK(starts(refusal(m), "error: input 1 is a number known only at run time (s0)"));
}

TEST_CASE("symbolic arithmetic that only asserts read is dropped") {
  Model m;
  m.nodes().push_back(
      node("item", "aten.item.default", {argument("self", tensor("relu"))}, {{{"as_sym_float", {{"as_name", "item"}}}}}));
  m.nodes().push_back(
      node("check", "aten._assert_scalar.default", {argument("self", {{"as_sym_bool", {{"as_name", "item"}}}})}, {}));
  CHECK(text(m) == kGood);
}

TEST_CASE("mutation, control flow, training programs, custom objects") {
  Model m;
  m.signature()["output_specs"].push_back({{"buffer_mutation", {{"arg", {{"name", "relu"}}}, {"buffer_name", "st"}}}});
  CHECK(refusal(m) == std::string("error: the program writes to the buffer 'st', which is not supported") + kPlace +
                          "\n  help: take the state as an input of forward and return its new value as an output");
  m.signature()["output_specs"][1]["buffer_mutation"]["buffer_name"] = "bn.running_mean";
  CHECK(refusal(m).find("help: call model.eval() before torch.export.export") != std::string::npos);
  m.signature()["output_specs"][1] = {{"user_input_mutation", {{"arg", {{"name", "relu"}}}, {"user_input_name", "x"}}}};
  CHECK(starts(refusal(m), "error: the program writes to the input 'x', which is not supported"));
  m.signature()["output_specs"][1] = {{"loss_output", {{"arg", {{"name", "relu"}}}}}};
  CHECK(starts(refusal(m), "error: this is a program for training"));
  m.signature()["output_specs"][1] = {{"user_output", {{"arg", {{"as_int", 3}}}}}};
  CHECK(starts(refusal(m), "error: output 1 is no tensor (as_int)"));
  m.signature()["output_specs"][1] = {{"surprise", {{"arg", 1}}}};
  CHECK(starts(refusal(m),
               "error: 'net/models/model.json' at graph_module.signature.output_specs[1]: unknown kind of output 'surprise'"));
  m = Model();
  m.signature()["input_specs"].push_back(
      {{"custom_obj", {{"arg", {{"name", "o"}, {"class_fqn", "C"}}}, {"custom_obj_name", "thing"}}}});
  m.signature()["input_specs"].push_back({{"token", {{"arg", {{"name", "t"}}}}}});
  CHECK(refusal(m).find("error: the custom object 'thing' is not supported") == 0);
  CHECK(refusal(m).find("error: effect tokens are not supported") != std::string::npos);  // both are told
  m = Model();
  m.nodes()[1]["target"] = "torch.ops.higher_order.cond";
  CHECK(starts(refusal(m), "error: 'higher_order.cond' is not supported\n  --> net.py:12 in forward: y = self.fc(x)"));
  m = Model();
  m.nodes()[1]["inputs"].push_back(argument("z", {{"as_complex", {{"real", 1}, {"imag", 2}}}}));
  CHECK(starts(refusal(m), "error: the argument 'z' is of a kind that is not supported (as_complex)"));
}

TEST_CASE("writing in place") {
  Model m;
  m.nodes()[1]["target"] = "torch.ops.aten.relu_.default";
  CHECK(refusal(m) == "");  // nobody reads %linear afterwards
  m.signature()["output_specs"].push_back({{"user_output", {{"arg", tensor("linear")}}}});
  CHECK(
      starts(refusal(m), "error: writes in place into the memory of %linear, which the output reads afterwards\n  --> net.py:12"));
  m = Model();  // through a view
  m.graph()["tensor_values"]["view"] = meta({2});
  m.nodes().insert(m.nodes().begin() + 1,
                   node("view", "aten.view.default", {argument("self", tensor("linear")), argument("size", {{"as_ints", {2}}})},
                        {tensor("view")}));
  m.nodes()[2]["target"] = "torch.ops.aten.relu_.default";
  m.nodes()[2]["inputs"] = list({argument("self", tensor("view"))});
  CHECK(refusal(m) == "");
  m.signature()["output_specs"].push_back({{"user_output", {{"arg", tensor("linear")}}}});
  CHECK(starts(refusal(m), "error: writes in place into the memory of %linear"));
  m = Model();
  m.nodes()[1]["target"] = "torch.ops.aten.copy_.default";
  m.nodes()[1]["inputs"] = list({argument("self", tensor("p_fc_bias")), argument("src", tensor("linear"))});
  CHECK(starts(refusal(m), "error: the program writes to 'fc.bias', a buffer or parameter, which is not supported"));
}

TEST_CASE("damaged programs") {
  const std::string at = "error: 'net/models/model.json' at graph_module.graph.nodes[1]";
  Model m;
  m.nodes()[1]["inputs"][0]["arg"] = tensor("nowhere");
  CHECK(refusal(m) == at + ".inputs[0].arg.as_tensor.name: the tensor 'nowhere' is not defined" + kPlace);
  m.nodes()[1]["inputs"][0]["arg"] = tensor("relu");
  CHECK(refusal(m) == std::string("error: operand %relu is not computed before this node") + kPlace);
  m = Model();
  std::swap(m.nodes()[0], m.nodes()[1]);
  CHECK(refusal(m).find("the tensor 'linear' is read before it is computed") != std::string::npos);
  m = Model();
  m.nodes()[1]["outputs"] = list({tensor("linear")});
  CHECK(starts(refusal(m), at + ".outputs[0].as_tensor.name: the tensor 'linear' is defined twice"));
  m = Model();
  m.nodes()[1]["name"] = "linear";
  CHECK(starts(refusal(m), "error: two nodes are named linear"));
  m = Model();
  m.nodes()[1].erase("inputs");
  CHECK(starts(refusal(m), at + ": 'inputs' is missing"));
  m = Model();
  m.nodes()[1]["inputs"].push_back(m.nodes()[1]["inputs"][0]);
  CHECK(starts(refusal(m), at + ".inputs[1].name: the argument 'self' is given twice"));
  m = Model();
  m.graph()["tensor_values"].erase("relu");
  CHECK(starts(refusal(m), at + ".outputs[0].as_tensor.name: the tensor 'relu' has no entry in tensor_values"));
  m = Model();
  m.nodes()[1]["inputs"][0]["arg"] = {{"as_tensor", {{"name", "x"}}}, {"as_int", 1}};
  CHECK(starts(refusal(m), at + ".inputs[0].arg: an object with one member is expected"));
  m = Model();
  m.nodes()[1]["inputs"][0]["arg"] = {{"as_int", 18446744073709551615u}};
  CHECK(starts(refusal(m), at + ".inputs[0].arg.as_int: an integer is expected"));
  m = Model();
  m.signature()["output_specs"].clear();
  CHECK(starts(refusal(m), "error: the program returns no tensor\n  in net.pt2"));
  m = Model();
  m.program["schema_version"] = {{"major", 7}, {"minor", 3}};
  CHECK(refusal(m) ==
        "error: export schema 7.3 (torch 2.13.0) is not supported; 8.x is\n  in net.pt2\n  help: export again with torch 2.13");
}

TEST_CASE("any single part of the program missing or of another type is a message, not a crash") {
  const Folder folder;
  const Model good;
  const json flat = good.program.flatten();
  for (auto it = flat.begin(); it != flat.end(); ++it) {
    for (const json& wrong : {json(nullptr), json(-1), json("?"), json::array(), json::object(), json(1e300), json(true)}) {
      Model m;
      m.program[json::json_pointer(it.key())] = wrong;
      m.save(folder / "net.pt2");
      refusal(folder / "net.pt2");
      json::json_pointer parent = json::json_pointer(it.key()).parent_pointer();
      m = Model();
      m.program[parent] = wrong;
      m.save(folder / "net.pt2");
      refusal(folder / "net.pt2");
    }
  }
  const json config = good.weights.flatten();
  for (auto it = config.begin(); it != config.end(); ++it) {
    for (const json& wrong : {json(nullptr), json(-1), json("?"), json(int64_t{1} << 62)}) {
      Model m;
      m.weights[json::json_pointer(it.key())] = wrong;
      m.save(folder / "net.pt2");
      refusal(folder / "net.pt2");
    }
  }
}

TEST_CASE("archives that are none, are cut short, or flipped") {
  const Folder folder;
  const std::string path = folder / "net.pt2";
  auto write = [&](const std::string& bytes) { write_new(path, bytes); };
  CHECK(refusal(folder / "none.pt2") == "error: there is no such file\n  in none.pt2");
  CHECK(refusal(folder.path.string()).find("error: is a folder, not a file") == 0);
  write("");
  CHECK(starts(refusal(path), "error: not a zip archive\n  in net.pt2"));
  write("hello, I am no zip");
  CHECK(starts(refusal(path), "error: not a zip archive\n  in net.pt2"));
  for (bool deflate : {false, true}) {
    Model m;
    m.deflate = deflate;
    m.save(path);
    std::ifstream in(path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    for (size_t i = 4; i < whole.size(); i += 1 + i % 7) {
      write(whole.substr(0, i));
      CHECK(starts(refusal(path), "error: the zip archive is cut short or damaged: its directory is missing\n  in net.pt2"));
    }
    for (size_t i = 0; i < whole.size(); i++) {
      std::string bad = whole;
      bad[i] = char(bad[i] ^ (1 << (i % 8)));
      write(bad);
      refusal(path);
    }
  }
  Model m;
  m.files["byteorder"] = "big";
  CHECK(starts(refusal(m), "error: the archive's 'byteorder' is 'big'; only 'little' can be read\n  in net.pt2"));
  m = Model();
  m.files["archive_format"] = "pt3";
  CHECK(starts(refusal(m), "error: the archive's 'archive_format' is 'pt3'"));
  m = Model();
  m.files["models/other.json"] = "{}";
  CHECK(starts(refusal(m), "error: the archive holds 2 programs, 'net/models/model.json' and 'net/models/other.json' among them"));
  m = Model();
  m.files["models/model.json"] = "{\"graph_module\": ";
  CHECK(starts(refusal(m), "error: 'net/models/model.json' is not valid JSON (at byte 17 of 17)"));
  m.files["models/model.json"] = std::string(100000, '[') + std::string(100000, ']');
  CHECK(starts(refusal(m), "error: 'net/models/model.json' is nested more than 100 deep"));
  m.files["models/model.json"] = "[1]";
  CHECK(starts(refusal(m), "error: 'net/models/model.json': an object is expected"));
}

TEST_CASE("other files people try") {
  const Folder folder;
  auto archive = [&](const std::string& entry) {
    write_zip(folder / "net.pt2", {{entry, "x"}}, false);
    return refusal(folder / "net.pt2");
  };
  CHECK(archive("net/data.pkl") ==
        "error: this is a pickle of torch.save or torch.jit.save, not an exported program\n  in net.pt2\n"
        "  help: write it with torch.export.save(torch.export.export(model.eval(), example_inputs), path)");
  CHECK(starts(archive("serialized_exported_program.json"), "error: the archive is of the format before torch 2.8"));
  CHECK(starts(archive("a.txt"), "error: the zip archive holds no exported program (no models/model.json)"));
}

TEST_CASE("stack traces and module paths") {
  const Location l = parse_stack_trace(
      "  File \"/home/u/my \\\"net\\\", line 1.py\", line 7, in forward\n    return self.c(\n           ~~~~~~^\n"
      "  File \"/v/lib/python3.11/site-packages/torch/nn/modules/conv.py\", line 5, in forward\n    x");
  CHECK(l.file == "/home/u/my \\\"net\\\", line 1.py");
  CHECK(l.line == 7);
  CHECK(l.function == "forward");
  CHECK(l.text == "return self.c(");
  CHECK(parse_stack_trace("File \"a.py\", line 1, in f\nFile \"b.py\", line 2, in g\n  b\nFile \"<eval_with_key>.1\", line 9, in h")
            .text == "b");
  CHECK(!l.library);
  const Location sequential = parse_stack_trace("File \"torch/nn/modules/linear.py\", line 3, in forward");
  CHECK(sequential.line == 3);  // nothing better is there
  CHECK(sequential.library);
  for (const char* odd :
       {"", "nonsense", "File \"", "File \"a\", line ", "File \"a\", line x, in", "File \"a\", line 99999999999999999999"})
    CHECK(parse_stack_trace(odd).line == 0);
  CHECK(parse_module_stack("L__self__,,m.Net;L__self___a_0,a.0,torch.nn.Conv2d") == "a.0");
  CHECK(parse_module_stack("L__self__,,m.Net;L__self___c@1,c@1,torch.nn.Conv2d") == "c");
  CHECK(parse_module_stack("L__self__,L__self__,m.Net") == "");
  CHECK(parse_module_stack("L['self'],L['self'].net._c,m.Net") == "net._c");
  CHECK(parse_module_stack("") == "");
  CHECK(parse_module_stack("a") == "");
}

TEST_CASE("all models at hand import, and print") {
  const char* shared = std::getenv("CORTEN_SHARED");
  const fs::path models = fs::path(shared ? shared : "../shared") / "models";
  if (!fs::exists(models)) {
    CHECK_MESSAGE(!std::getenv("CI"), "no models at " << models);
    MESSAGE("skipped: no models at " << models);
    return;
  }
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(models)) {
    if (entry.path().extension() != ".pt2") continue;
    CAPTURE(entry.path());
    const auto begin = std::chrono::steady_clock::now();
    const Graph g = import_pt2(entry.path().string());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    CHECK(seconds.count() < 10);  // 0.1 s without sanitizers
    CHECK(!g.nodes.empty());
    for (const Node& n : g.nodes) CHECK((n.where.line > 0 || n.op.starts_with("quantized_decomposed.")));
    CHECK(print(g).size() > 100);
    count++;
  }
  CHECK(count > 0);
}
