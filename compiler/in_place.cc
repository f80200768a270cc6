#include "compiler/in_place.h"

#include <fmt/format.h>

#include <string_view>

namespace corten {

namespace {

constexpr char kFunctionalHelp[] = "export with ep = ep.run_decompositions({}), which takes in-place operators out, and save that";

// "aten.relu_.default" -> "relu_"
std::string_view base_name(std::string_view op) {
  const size_t first = op.find('.'), last = op.rfind('.');
  if (!op.starts_with("aten.") || first == last) return {};
  return op.substr(first + 1, last - first - 1);
}

// Writes its first operand.
bool is_in_place(const Node& n) {
  const std::string_view name = base_name(n.op);
  return name.ends_with('_') && !name.ends_with("__") && name != "detach_" && name != "requires_grad_" && !n.in.empty();
}

// Whether a result may be (part of) the first operand's memory.
bool is_view(const Node& n) {
  constexpr std::string_view kViews[] = {
      "alias",     "as_strided",       "chunk",     "contiguous", "detach",  "diagonal",     "dropout",   "expand",
      "expand_as", "flatten",          "movedim",   "narrow",     "permute", "reshape",      "select",    "slice",
      "split",     "split_with_sizes", "squeeze",   "swapaxes",   "t",       "to",           "transpose", "unbind",
      "unflatten", "unfold",           "unsqueeze", "view",       "view_as", "_unsafe_view", "detach_"};
  const std::string_view name = base_name(n.op);
  for (std::string_view view : kViews)
    if (name == view) return true;
  return false;
}

class Checker {
 public:
  explicit Checker(const Graph& g) : g_(g), root_(g.values.size()), overwritten_by_(g.values.size(), -1) {
    for (size_t v = 0; v < root_.size(); v++) root_[v] = ValueId(v);
  }

  std::vector<Diag> run() {
    for (size_t i = 0; i < g_.nodes.size(); i++) node(int(i));
    for (ValueId v : g_.outputs) read(v, "the output");
    return std::move(found_);
  }

 private:
  void report(int writer, std::string message, std::string help) {
    found_.push_back(located(g_, g_.nodes[size_t(writer)], Code::mutation, std::move(message), std::move(help)));
  }

  void read(ValueId v, const std::string& reader) {
    if (v == kNone) return;
    int& writer = overwritten_by_[size_t(v)];
    if (writer < 0) return;
    report(writer, fmt::format("writes in place into the memory of %{}, which {} reads afterwards", g_[v].name, reader),
           kFunctionalHelp);
    writer = -1;  // once is enough
  }

  void node(int i) {
    const Node& n = g_.nodes[size_t(i)];
    for (ValueId v : n.in) read(v, "node " + n.name);
    if (n.in.empty() || n.in[0] == kNone) return;
    const bool writes = is_in_place(n);
    if (writes) write(i, root_[size_t(n.in[0])]);
    if (!writes && !is_view(n)) return;
    for (ValueId v : n.out)
      if (v != kNone) root_[size_t(v)] = root_[size_t(n.in[0])];
  }

  void write(int i, ValueId root) {
    if (g_.is_constant(root)) {
      const std::string& name = g_[root].name;
      const bool statistic =
          name.ends_with("num_batches_tracked") || name.ends_with("running_mean") || name.ends_with("running_var");
      report(i, fmt::format("the program writes to '{}', a buffer or parameter, which is not supported", name),
             statistic ? "call model.eval() before torch.export.export"
                       : "take the state as an input of forward and return its new value as an output");
      return;
    }
    // All that exists of this memory by now holds old data, as a graph sees it.
    for (int j = -1; j < i; j++) {
      const auto& made = j < 0 ? g_.inputs : g_.nodes[size_t(j)].out;
      for (ValueId v : made)
        if (v != kNone && root_[size_t(v)] == root) overwritten_by_[size_t(v)] = i;
    }
  }

  const Graph& g_;
  std::vector<ValueId> root_;        // the value whose memory this one may share
  std::vector<int> overwritten_by_;  // node, or -1
  std::vector<Diag> found_;
};

}  // namespace

std::vector<Diag> check_in_place(const Graph& g) { return Checker(g).run(); }

}  // namespace corten
