#include "compiler/import.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/archive.h"
#include "compiler/in_place.h"
#include "compiler/stack_trace.h"

namespace corten {

namespace {

constexpr size_t kMaxProblems = 20;
constexpr int kMaxDepth = 10;
constexpr char kStaticHelp[] =
    "export with static shapes: leave out dynamic_shapes, and give example inputs of the size the device will see";
constexpr char kStateHelp[] = "take the state as an input of forward and return its new value as an output";
constexpr char kEvalHelp[] = "call model.eval() before torch.export.export";

bool is_batch_norm_statistic(const std::string& buffer) {
  return buffer.ends_with("num_batches_tracked") || buffer.ends_with("running_mean") || buffer.ends_with("running_var");
}

// Checks made while tracing; nothing to compute.
bool is_assert(const std::string& op) {
  for (std::string_view name :
       {"aten._assert_tensor_metadata.", "aten._assert_scalar.", "aten._assert_async.", "aten.sym_constrain_range"})
    if (op.starts_with(name)) return true;
  return false;
}

class Importer {
 public:
  Importer(const std::string& path, const std::set<std::string>& without) : archive_(path), without_(without) { g_.source = path; }

  Graph run() {
    const Json module = archive_.model().at("graph_module");
    const Json graph = module.at("graph"), signature = module.at("signature");
    for (const auto& [name, meta] : graph.at("tensor_values").members()) scope_.metas.emplace(name, meta);
    for (const Json& spec : signature.at("input_specs").items()) input(spec);
    stop_at_problems();  // a dynamic input makes all that follows dynamic
    for (const Json& n : graph.at("nodes").items()) node(n);
    for (const Json& spec : signature.at("output_specs").items()) output(spec);
    for (Diag& d : check_in_place(g_)) problem(std::move(d));
    stop_at_problems();
    if (g_.inputs.empty()) fail_file(g_.source, Code::not_an_export, "the program takes no tensor", "give forward an input");
    if (g_.outputs.empty()) fail_file(g_.source, Code::not_an_export, "the program returns no tensor");
    verify(g_);
    return std::move(g_);
  }

 private:
  struct Stored {  // a parameter, buffer or constant; a Value once something reads it
    std::string name;
    bool constant;
  };

  struct Scope {                                  // by name in the program
    std::unordered_map<std::string, Json> metas;  // tensor_values
    std::unordered_map<std::string, ValueId> ids;
    std::unordered_map<std::string, Stored> stored;
  };

  // -- problems: what the file may say, but cannot be compiled

  void problem(Diag d) {
    if (without_.count(d.node)) return;
    d.subject = g_.source;
    if (problems_.size() < kMaxProblems) problems_.push_back(std::move(d));
  }

  void problem(const Node& n, Code code, std::string message, std::string help) {
    problem(located(g_, n, code, std::move(message), std::move(help)));
  }

  void stop_at_problems() const {
    if (problems_.size() == 1) throw Error(problems_[0]);
    if (!problems_.empty()) throw Errors(problems_);
  }

  // -- values

  static std::string unused(const std::string& name, const std::unordered_set<std::string>& taken) {
    std::string s = name;
    for (int i = 2; taken.count(s); i++) s = fmt::format("{}_{}", name, i);
    return s;
  }

  ValueId add_value(const std::string& name, DType dtype, Shape shape) {
    Value v;
    v.name = unused(name, value_names_);
    value_names_.insert(v.name);
    v.dtype = dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
    v.shape = std::move(shape);
    g_.values.push_back(std::move(v));
    return ValueId(g_.values.size() - 1);
  }

  const Json& meta_of(const std::string& name, const Json& at) const {
    auto it = scope_.metas.find(name);
    if (it == scope_.metas.end()) at.fail(Code::not_an_export, fmt::format("the tensor '{}' has no entry in tensor_values", name));
    return it->second;
  }

  // A tensor defined here. `meta` says whether its shape is symbolic.
  ValueId define(const Json& tensor, TensorMeta& meta) {
    const Json json = tensor.at("name");
    const std::string& name = json.text();
    if (name.empty()) json.fail(Code::not_an_export, "a tensor has no name");
    if (scope_.ids.count(name) || scope_.stored.count(name))
      json.fail(Code::not_an_export, fmt::format("the tensor '{}' is defined twice", name));
    meta = read_tensor_meta(meta_of(name, json), false);
    return scope_.ids[name] = add_value(name, meta.dtype, meta.shape);
  }

  ValueId use(const Json& tensor) {
    const Json json = tensor.at("name");
    const std::string& name = json.text();
    if (auto it = scope_.ids.find(name); it != scope_.ids.end()) return it->second;
    auto it = scope_.stored.find(name);
    if (it == scope_.stored.end()) {
      json.fail(Code::not_an_export, scope_.metas.count(name) ? fmt::format("the tensor '{}' is read before it is computed", name)
                                                              : fmt::format("the tensor '{}' is not defined", name));
    }
    auto data = archive_.tensor(it->second.name, it->second.constant);
    const TensorMeta meta = read_tensor_meta(meta_of(name, json), false);
    if (meta.shape != data->shape) {
      json.fail(Code::not_an_export, fmt::format("'{}' is {} in the program, but {} in the archive", it->second.name,
                                                 to_text(meta.shape), to_text(data->shape)));
    }
    const ValueId v = add_value(it->second.name, data->dtype, data->shape);
    g_[v].data = std::move(data);
    return scope_.ids[name] = v;
  }

  // -- inputs

  void store(const Json& spec, std::string_view name_key, bool constant) {
    const Json json = spec.at("arg").at("name");
    const std::string& name = json.text();
    if (scope_.ids.count(name) || !scope_.stored.emplace(name, Stored{spec.at(name_key).text(), constant}).second) {
      json.fail(Code::not_an_export, fmt::format("the tensor '{}' is defined twice", name));
    }
  }

  void input(const Json& spec) {
    const auto [kind, body] = spec.tagged();
    if (kind == "user_input") {
      user_input(body.at("arg"));
    } else if (kind == "parameter") {
      store(body, "parameter_name", false);
    } else if (kind == "buffer") {
      const auto persistent = body.find("persistent");
      store(body, "buffer_name", persistent && !persistent->flag());
    } else if (kind == "tensor_constant") {
      store(body, "tensor_constant_name", true);
    } else if (kind == "custom_obj") {
      problem_about(Code::unsupported_use, "the custom object '" + body.at("custom_obj_name").text() + "' is not supported",
                    "write it with tensors alone");
    } else if (kind == "token") {
      problem_about(Code::unsupported_use, "effect tokens are not supported",
                    "leave out operators with side effects, such as printing");
    } else if (kind != "constant_input") {  // whose value is already where it is used
      spec.fail(Code::not_an_export, fmt::format("unknown kind of input '{}'", kind), "export again with torch 2.13");
    }
  }

  void problem_about(Code code, std::string message, std::string help) { problem(Diag(code, std::move(message), std::move(help))); }

  void user_input(const Json& argument) {
    const auto [kind, body] = argument.tagged();
    if (kind == "as_none" || kind == "as_int" || kind == "as_float" || kind == "as_bool" || kind == "as_string") return;
    if (kind.starts_with("as_sym_")) {
      const auto name = body.find("as_name");
      problem_about(
          Code::dynamic_shape,
          fmt::format("input {} is a number known only at run time{}", g_.inputs.size(), name ? " (" + name->text() + ")" : ""),
          "give it as a constant when exporting, or as a tensor");
      return;
    }
    if (kind != "as_tensor") {
      problem_about(Code::unsupported_use, fmt::format("input {} is no tensor ({})", g_.inputs.size(), kind),
                    "forward may take tensors and constants");
      return;
    }
    TensorMeta meta;
    const ValueId v = define(body, meta);
    if (elements(meta.shape) == 0)
      problem_about(Code::unsupported_use, fmt::format("input '{}' is empty: {}", g_[v].name, to_text(meta.shape)),
                    "export with example inputs of the size the device will see");
    if (!meta.refused.empty())
      problem_about(Code::unsupported_dtype, "input '" + g_[v].name + "': " + refused_type(meta.refused), kTypeHelp);
    if (meta.symbolic_dim >= 0) {
      problem_about(Code::dynamic_shape,
                    fmt::format("dimension {} of input '{}' is dynamic ({})", meta.symbolic_dim, g_[v].name, meta.symbolic),
                    kStaticHelp);
    }
    g_.inputs.push_back(v);
  }

  // -- nodes

  void node(const Json& json) {
    Node n;
    std::string origin;
    n.op = json.at("target").text();
    for (std::string_view prefix : {"torch.ops.", "torch._ops."})
      if (n.op.starts_with(prefix)) n.op.erase(0, prefix.size());
    if (n.op.empty()) json.fail(Code::not_an_export, "a node has no target");
    n.aten = n.op;
    if (const auto name = json.find("name")) n.name = name->text();
    if (const auto metadata = json.find("metadata")) {
      if (const auto trace = metadata->find("stack_trace")) n.where = parse_stack_trace(trace->text());
      if (const auto stack = metadata->find("nn_module_stack")) n.where.module = parse_module_stack(stack->text());
      if (const auto from = metadata->find("from_node")) origin = parse_from_node(from->text());
    }
    try {
      if (is_assert(n.op) || inlined(n, json) || outputs_of(n, json)) return;
      arguments(n, json);
    } catch (Error& e) {  // damage in the file: say at which node, and stop
      if (e.diag.node.empty()) e.diag.node = n.name, e.diag.aten = n.aten, e.diag.where = n.where;
      throw;
    }
    if (depth_) n.name = unused(n.name, node_names_);  // names of a graph within are its own
    node_names_.insert(n.name);
    g_.origins[n.name] = {origin, n.where.module, n.aten, seen_[{n.where.module, n.aten}]++};
    g_.nodes.push_back(std::move(n));
  }

  // "with torch.no_grad()" wraps a part of the program into a graph of its own: put its nodes here, in place of the wrapper.
  bool inlined(const Node& n, const Json& json) {
    if (n.op != "higher_order.wrap_with_set_grad_enabled") return false;
    std::optional<Json> graph;
    std::vector<ValueId> operands;
    for (const Json& input : json.at("inputs").items()) {
      const auto [kind, body] = input.at("arg").tagged();
      if (kind == "as_graph") graph = body.at("graph");
      if (kind == "as_tensor") operands.push_back(use(body));
    }
    if (!graph) json.fail(Code::not_an_export, "the graph within is missing");
    Scope outer = std::exchange(scope_, {});
    if (++depth_ > kMaxDepth) json.fail(Code::not_an_export, "graphs are nested too deep");
    for (const auto& [name, meta] : graph->at("tensor_values").members()) scope_.metas.emplace(name, meta);
    const auto inputs = graph->at("inputs").items();
    if (inputs.size() != operands.size())
      json.fail(Code::not_an_export, fmt::format("{} operands for {} inputs", operands.size(), inputs.size()));
    for (size_t i = 0; i < inputs.size(); i++) scope_.ids[inputs[i].at("as_tensor").at("name").text()] = operands[i];
    for (const Json& inner : graph->at("nodes").items()) node(inner);
    std::vector<ValueId> results;
    for (const Json& output : graph->at("outputs").items()) results.push_back(use(output.at("as_tensor")));
    scope_ = std::move(outer);
    depth_--;
    size_t next = 0;
    auto name_result = [&](const Json& tensor) {
      if (next == results.size()) tensor.fail(Code::not_an_export, "the graph within gives fewer results");
      scope_.ids[tensor.at("name").text()] = results[next++];
    };
    for (const Json& output : json.at("outputs").items()) {
      const auto [kind, body] = output.tagged();
      if (kind == "as_tensor") {
        name_result(body);
      } else {
        for (const Json& tensor : output.at("as_tensors").items()) name_result(tensor);
      }
    }
    return true;
  }

  // Defines the results. True if they are all symbolic numbers, so that the node itself is not wanted.
  bool outputs_of(Node& n, const Json& json) {
    std::string symbolic;
    bool numbers = false;
    auto add = [&](const Json& tensor) {
      TensorMeta meta;
      n.out.push_back(define(tensor, meta));
      if (!meta.refused.empty()) n.attrs["refused_type"] = meta.refused;
      if (meta.symbolic_dim >= 0) symbolic = meta.symbolic;
    };
    for (const Json& output : json.at("outputs").items()) {
      const auto [kind, body] = output.tagged();
      if (kind == "as_tensor") {
        add(body);
      } else if (kind == "as_tensors") {
        for (const Json& tensor : body.items()) add(tensor);
      } else if (kind == "as_optional_tensors") {
        for (const Json& item : body.items()) optional(item, n.out, add);
      } else if (kind == "as_optional_tensor") {
        optional(body, n.out, add);
      } else if (kind == "as_none") {
        n.out.push_back(kNone);
      } else if (kind.starts_with("as_sym_")) {
        numbers = true;
      } else if (kind != "as_int" && kind != "as_float" && kind != "as_bool") {
        output.fail(Code::not_an_export, fmt::format("unknown kind of output '{}'", kind), "export again with torch 2.13");
      }
    }
    if (n.name.empty()) n.name = n.out.empty() || n.out[0] == kNone ? n.op : g_[n.out[0]].name;
    if (numbers && n.out.empty()) return true;
    if (!symbolic.empty() && !dynamic_) {
      dynamic_ = true;  // once: what follows from it is dynamic too
      problem(n, Code::dynamic_shape, "the shape of the result is known only at run time (" + symbolic + ")",
              "avoid operators whose result's size depends on the data, such as nonzero or boolean indexing");
    }
    return false;
  }

  template <class F>
  static void optional(const Json& item, std::vector<ValueId>& none, F&& add) {
    const auto [kind, body] = item.tagged();
    if (kind == "as_tensor") {
      add(body);
    } else if (kind == "as_none") {
      none.push_back(kNone);
    } else {
      item.fail(Code::not_an_export, "a tensor or none is expected");
    }
  }

  void arguments(Node& n, const Json& json) {
    if (n.op.starts_with("higher_order.")) {
      problem(n, Code::unsupported_operator, "'" + n.op + "' is not supported",
              "write forward without control flow that depends on data, and without autocast");
      return;
    }
    std::unordered_set<std::string> seen;
    for (const Json& input : json.at("inputs").items()) {
      const Json name = input.at("name");
      if (!seen.insert(name.text()).second)
        name.fail(Code::not_an_export, fmt::format("the argument '{}' is given twice", name.text()));
      const auto [kind, body] = input.at("arg").tagged();
      if (operand(n, name.text(), kind, body)) continue;
      std::optional<Attr> attr;
      const bool known = attribute(kind, body, attr);
      if (attr) n.attrs.emplace(name.text(), std::move(*attr));
      if (known) continue;
      if (kind.starts_with("as_sym_")) {
        problem(n, Code::dynamic_shape, fmt::format("the argument '{}' is known only at run time", name.text()), kStaticHelp);
      } else {
        problem(n, Code::unsupported_use,
                fmt::format("the argument '{}' is of a kind that is not supported ({})", name.text(), kind),
                "write it in another way");
      }
      return;
    }
  }

  bool operand(Node& n, const std::string& name, const std::string& kind, const Json& body) {
    auto add = [&](const Json& tensor) {
      n.in.push_back(use(tensor));
      n.in_names.push_back(name);
    };
    auto add_optional = [&](const Json& item) {
      optional(item, n.in, add);
      n.in_names.resize(n.in.size(), name);
    };
    if (kind == "as_tensor") {
      add(body);
    } else if (kind == "as_tensors") {
      for (const Json& tensor : body.items()) add(tensor);
    } else if (kind == "as_optional_tensors") {
      for (const Json& item : body.items()) add_optional(item);
    } else if (kind == "as_optional_tensor") {
      add_optional(body);
    } else {
      return false;
    }
    return true;
  }

  // False for what no attribute can hold. Devices, layouts and None give none.
  static bool attribute(const std::string& kind, const Json& body, std::optional<Attr>& attr) {
    auto list = [&]<class T>(std::vector<T> v, auto&& read) {
      for (const Json& item : body.items()) v.push_back(read(item));
      attr = std::move(v);
    };
    if (kind == "as_none" || kind == "as_device" || kind == "as_layout") return true;
    if (kind == "as_bool") return attr = body.flag(), true;
    if (kind == "as_int" || kind == "as_scalar_type" || kind == "as_memory_format") return attr = body.integer(), true;
    if (kind == "as_float") return attr = body.real(), true;
    if (kind == "as_string") return attr = body.text(), true;
    if (kind == "as_ints") return list(std::vector<int64_t>(), [](const Json& j) { return j.integer(); }), true;
    if (kind == "as_bools") return list(std::vector<int64_t>(), [](const Json& j) { return int64_t(j.flag()); }), true;
    if (kind == "as_floats") return list(std::vector<double>(), [](const Json& j) { return j.real(); }), true;
    if (kind == "as_strings") return list(std::vector<std::string>(), [](const Json& j) { return j.text(); }), true;
    if (kind == "as_sym_int") {
      const auto [tag, value] = body.tagged();
      return tag == "as_int" && (attr = value.integer(), true);
    }
    if (kind == "as_sym_ints") {
      std::vector<int64_t> v;
      for (const Json& item : body.items()) {
        const auto [tag, value] = item.tagged();
        if (tag != "as_int") return false;
        v.push_back(value.integer());
      }
      attr = std::move(v);
      return true;
    }
    return false;
  }

  // -- outputs

  void output(const Json& spec) {
    const auto [kind, body] = spec.tagged();
    if (kind == "user_output") {
      user_output(body.at("arg"));
    } else if (kind == "buffer_mutation") {
      const std::string& name = body.at("buffer_name").text();
      const bool training = is_batch_norm_statistic(name);
      mutation(body, training ? Code::train_mode : Code::mutation, "the buffer '" + name + "'", training ? kEvalHelp : kStateHelp);
    } else if (kind == "parameter_mutation") {
      mutation(body, Code::train_mode, "the parameter '" + body.at("parameter_name").text() + "'", kEvalHelp);
    } else if (kind == "user_input_mutation") {
      mutation(body, Code::mutation, "the input '" + body.at("user_input_name").text() + "'",
               "use the operator that does not work in place (relu instead of relu_)");
    } else if (kind == "loss_output" || kind == "gradient_to_parameter" || kind == "gradient_to_user_input") {
      problem_about(Code::train_mode, "this is a program for training (it has the output kind '" + kind + "')",
                    "export the model for inference");
    } else if (kind == "token") {
      problem_about(Code::unsupported_use, "effect tokens are not supported",
                    "leave out operators with side effects, such as printing");
    } else {
      spec.fail(Code::not_an_export, fmt::format("unknown kind of output '{}'", kind), "export again with torch 2.13");
    }
  }

  // Located at the node that computes the new value.
  void mutation(const Json& spec, Code code, const std::string& what, const char* help) {
    const int producer = g_.producer(use(spec.at("arg")));
    const std::string message = "the program writes to " + what + ", which is not supported";
    producer < 0 ? problem_about(code, message, help) : problem(g_.nodes[size_t(producer)], code, message, help);
  }

  void user_output(const Json& argument) {
    const auto [kind, body] = argument.tagged();
    if (kind == "as_tensor") {
      g_.outputs.push_back(use(body));
    } else if (kind != "as_none") {  // a None that forward returns is no output
      problem_about(Code::unsupported_use, fmt::format("output {} is no tensor ({})", g_.outputs.size(), kind),
                    "let forward return tensors only");
    }
  }

  Archive archive_;
  const std::set<std::string>& without_;
  Graph g_;
  Scope scope_;
  int depth_ = 0;
  std::unordered_set<std::string> value_names_, node_names_;
  std::map<std::pair<std::string, std::string>, int> seen_;  // nodes by module and operator
  std::vector<Diag> problems_;
  bool dynamic_ = false;
};

}  // namespace

Graph import_pt2(const std::string& path, const std::set<std::string>& without) {
  try {
    return Importer(path, without).run();
  } catch (Error& e) {
    if (e.diag.subject.empty()) e.diag.subject = path;
    throw;
  }
}

}  // namespace corten
