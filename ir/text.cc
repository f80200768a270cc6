// Prints a graph as text. docs/ir.md has the grammar; parse.cc reads it back.
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "ir/words.h"

namespace corten {

namespace {

constexpr int64_t kInlineElements = 32;  // larger constants print as a checksum, unless all their elements are the same
constexpr int64_t kSplatElements = 5;    // from here on such constants print as splat(value)

uint32_t crc32(const std::vector<uint8_t>& bytes) {
  uint32_t crc = 0xffffffffu;
  for (uint8_t b : bytes) {
    crc ^= b;
    for (int i = 0; i < 8; i++) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

template <class T>
std::string number(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(v)) return "nan";
    std::string s = fmt::format("{}", v);
    if (s.find_first_of(".en") == std::string::npos) s += ".0";  // keeps its type when read back; 'n' is that of "inf"
    return s;
  } else {
    return std::to_string(v);
  }
}

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 32) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string word(std::string_view s) { return is_word(s) ? std::string(s) : quoted(s); }

template <class T, class F>
std::string list(const T& items, F&& text) {
  std::string s;
  for (const auto& item : items) s += (s.empty() ? "" : ", ") + text(item);
  return "[" + s + "]";
}

struct AttrText {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return number(v); }
  std::string operator()(double v) const { return number(v); }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(const std::vector<int64_t>& v) const { return list(v, number<int64_t>); }
  std::string operator()(const std::vector<double>& v) const { return v.empty() ? "floats []" : list(v, number<double>); }
  std::string operator()(const std::vector<std::string>& v) const { return v.empty() ? "strings []" : list(v, quoted); }
};

std::string quant_text(const Quant& q) {
  const bool same_zero = !q.zero.empty() && std::equal(q.zero.begin() + 1, q.zero.end(), q.zero.begin());
  std::string s = " q(" + (q.axis < 0 && q.scale.size() == 1 ? number(q.scale[0]) : list(q.scale, number<double>)) + ", ";
  s += same_zero ? number(q.zero[0]) : list(q.zero, number<int32_t>);
  if (q.axis >= 0) s += fmt::format(", axis = {}", q.axis);
  if (q.lo != -128 || q.hi != 127) s += fmt::format(", range = [{}, {}]", q.lo, q.hi);
  return s + ")";
}

std::string data_text(const Tensor& t) {
  std::string s;
  const int64_t count = elements(t.shape);
  with_element_type(t.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if (count * int64_t(sizeof(T)) != int64_t(t.bytes.size())) return;
    const T* v = t.as<T>();
    const bool same = count >= kSplatElements && memcmp(v, v + 1, size_t(count - 1) * sizeof(T)) == 0;
    if (same) {
      s = "splat(" + number(v[0]) + ")";
    } else if (count <= kInlineElements) {
      s = list(std::vector<T>(v, v + count), number<T>);
    }
  });
  return s.empty() ? fmt::format("crc32({:08x})", crc32(t.bytes)) : s;
}

class Printer {
 public:
  explicit Printer(const Graph& g) : g_(g) {}

  std::string run() {
    text_ = "graph {\n";
    for (size_t i = 0; i < g_.inputs.size(); i++) {
      text_ += "  input " + typed(g_.inputs[i]) + permutation(g_.input_perm, i) + "\n";
    }
    for (size_t v = 0; v < g_.values.size(); v++)
      if (g_.values[v].data && used(ValueId(v))) constant(ValueId(v));
    for (const Node& n : g_.nodes) node(n);
    text_ += "  return";
    for (size_t i = 0; i < g_.outputs.size(); i++) {
      text_ += (i ? ", " : " ") + name(g_.outputs[i]) + permutation(g_.output_perm, i);
    }
    return text_ + "\n}\n";
  }

 private:
  bool known(ValueId v) const { return v >= 0 && size_t(v) < g_.values.size(); }

  bool used(ValueId v) {
    if (used_.empty()) {
      used_.resize(g_.values.size() + 1);
      for (const Node& n : g_.nodes)
        for (ValueId i : n.in)
          if (known(i)) used_[size_t(i)] = true;
      for (ValueId i : g_.outputs)
        if (known(i)) used_[size_t(i)] = true;
    }
    return used_[size_t(v)];
  }

  std::string name(ValueId v) const {
    if (v == kNone) return "none";
    if (!known(v)) return fmt::format("%\"?{}\"", v);  // for eyes: a broken graph prints, and verify says what is wrong
    return "%" + word(g_[v].name);
  }

  std::string typed(ValueId v) const {
    if (!known(v)) return name(v);
    const Value& value = g_[v];
    std::string s = name(v) + ": " + std::string(to_text(value.dtype)) + to_text(value.shape);
    if (value.quant) s += quant_text(*value.quant);
    return s;
  }

  void constant(ValueId v) { text_ += "  const " + typed(v) + " = " + data_text(*g_[v].data) + "\n"; }

  void node(const Node& n) {
    std::string s;
    for (ValueId v : n.out) s += (s.empty() ? "" : ", ") + typed(v);
    s = "  " + (n.out.empty() ? "()" : s) + " = " + word(n.op) + "(";
    for (size_t i = 0; i < n.in.size(); i++) {
      if (i) s += ", ";
      if (i < n.in_names.size()) s += word(n.in_names[i]) + " = ";
      s += name(n.in[i]);
    }
    s += ")";
    if (!n.attrs.empty()) {
      std::string attrs;
      for (const auto& [key, value] : n.attrs)
        attrs += (attrs.empty() ? "" : ", ") + word(key) + " = " + std::visit(AttrText(), value);
      s += " {" + attrs + "}";
    }
    if (n.aten != default_aten(n.op)) s += " from " + word(n.aten);
    if (n.name != default_name(n)) s += " as " + word(n.name);
    text_ += s + location(n.where) + "\n";
  }

  static std::string permutation(const std::vector<std::vector<int>>& perms, size_t i) {
    return i < perms.size() && !perms[i].empty() ? " perm " + list(perms[i], number<int>) : std::string();
  }

  std::string default_name(const Node& n) const { return !n.out.empty() && known(n.out[0]) ? g_[n.out[0]].name : std::string(); }

  static std::string location(const Location& w) {
    if (w.file.empty() && w.module.empty()) return {};
    std::string s = "  @ " + quoted(w.file);
    if (w.line) s += fmt::format(":{}", w.line);
    if (!w.function.empty()) s += " in " + word(w.function);
    if (!w.module.empty()) s += " module " + word(w.module);
    if (!w.text.empty()) s += " " + quoted(w.text);
    return s;
  }

  const Graph& g_;
  std::string text_;
  std::vector<bool> used_;
};

}  // namespace

std::string print(const Graph& g) { return Printer(g).run(); }

}  // namespace corten
