#include "compiler/counterpart.h"

#include <fmt/format.h>

namespace corten {

namespace {

// "aten.relu_.default" -> "aten.relu": neither overloads nor working in place make another operator.
std::string stem(const std::string& aten) {
  std::string s = aten.substr(0, aten.find('.', aten.find('.') + 1));
  while (s.ends_with('_')) s.pop_back();
  return s;
}

std::string place(const Origin& o) { return fmt::format("{}\n{}\n{}", o.module, stem(o.aten), o.index); }

bool is_batch_norm(const std::string& aten) { return aten.find("batch_norm") != std::string::npos; }

}  // namespace

std::string node_of_value(const std::string& value) { return value.substr(0, value.find('.')); }

Counterparts::Counterparts(const Graph& real, std::set<std::string> present) : real_(real), present_(std::move(present)) {
  for (const Node& n : real.nodes) by_node_[node_of_value(n.name)] = n.out[0];  // of several operators the last one's
  for (const auto& [name, origin] : real.origins) by_place_[place(origin)] = name;
}

ValueId Counterparts::with_batch_norm(ValueId v) const {
  const std::vector<int> users = real_.users(v);
  if (users.size() != 1 || real_.is_output(v)) return v;
  const Node& user = real_.nodes[size_t(users[0])];
  const std::string node = node_of_value(user.name);
  return is_batch_norm(user.aten) && !present_.count(node) ? by_node_.at(node) : v;
}

ValueId Counterparts::of(const Origin& o) const {
  std::string node = o.node;
  const auto same = real_.origins.find(node);
  if (same == real_.origins.end() || stem(same->second.aten) != stem(o.aten)) {
    const auto it = by_place_.find(place(o));
    if (it == by_place_.end()) return kNone;
    node = it->second;
  }
  const auto value = by_node_.find(node);
  return value == by_node_.end() ? kNone : with_batch_norm(value->second);
}

}  // namespace corten
