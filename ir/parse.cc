// Reads the text form of a graph. docs/ir.md has the grammar; text.cc prints it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <type_traits>
#include <unordered_map>

#include "ir/words.h"

namespace corten {

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 28;  // of one value: more is a slip of the pen

struct Token {
  enum Kind { end, word, number, string, symbol } kind = end;
  std::string text;  // strings unescaped
  int line = 1;
};

class Parser {
 public:
  Parser(std::string_view text, std::string source) : text_(text) { g_.source = std::move(source), advance(); }

  Graph run() {
    expect_word("graph");
    expect("{");
    while (!is_word("return")) statement();
    advance();
    if (!is("}")) {
      do output();
      while (accept("}") ? false : (expect(","), true));
    } else {
      advance();
    }
    if (now_.kind != Token::end) fail("expected the end of the text after the graph's closing brace, found " + shown());
    return std::move(g_);
  }

 private:
  // -- tokens

  [[noreturn]] void fail(std::string message, std::string help = {}) const {
    fail_at(now_.line, std::move(message), std::move(help));
  }

  [[noreturn]] void fail_at(int line, std::string message, std::string help = {}) const {
    Diag d(Code::internal, std::move(message), std::move(help));
    d.where.file = g_.source;
    d.where.line = line;
    size_t begin = 0;
    for (int i = 1; i < line; i++) begin = text_.find('\n', begin) + 1;
    begin = std::min(text_.size(), text_.find_first_not_of(" \t", begin));
    d.where.text = std::string(text_.substr(begin, text_.find('\n', begin) - begin));
    throw Error(std::move(d));
  }

  std::string shown() const { return now_.kind == Token::end ? "the end of the text" : "'" + now_.text + "'"; }

  void advance() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') line_++;
      if (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r') {
        at_++;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.size(), text_.find('\n', at_));
      } else {
        break;
      }
    }
    now_ = Token{};
    now_.line = line_;
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    const bool minus = c == '-' && at_ + 1 < text_.size();
    if (c == '"') {
      string_token();
    } else if ((c >= '0' && c <= '9') || minus) {
      take(Token::number, [](char x) { return is_word_char(x) || x == '-' || x == '+'; });
    } else if (is_word_start(c)) {
      take(Token::word, is_word_char);
    } else {
      now_.kind = Token::symbol;
      now_.text = std::string(1, c);
      at_++;
    }
  }

  template <class F>
  void take(Token::Kind kind, F&& belongs) {
    const size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) at_++;
    now_.kind = kind;
    now_.text = std::string(text_.substr(begin, at_ - begin));
  }

  void string_token() {
    now_.kind = Token::string;
    for (at_++;; at_++) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail("a string has no closing quote");
      char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') c = escape();
      now_.text += c;
    }
    at_++;
  }

  char escape() {
    const char c = ++at_ < text_.size() ? text_[at_] : '\n';
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == '"' || c == '\\') return c;
    unsigned value = 0;
    if (c == 'x' && at_ + 2 < text_.size()) {
      const char* digits = text_.data() + at_ + 1;
      if (std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
        at_ += 2;
        return char(value);
      }
    }
    fail("unknown escape in a string", R"(known are \" \\ \n \t and \xHH)");
  }

  bool is(std::string_view symbol) const { return now_.kind == Token::symbol && now_.text == symbol; }
  bool is_word(std::string_view w) const { return now_.kind == Token::word && now_.text == w; }
  bool accept(std::string_view symbol) { return is(symbol) && (advance(), true); }
  bool accept_word(std::string_view w) { return is_word(w) && (advance(), true); }

  void expect(std::string_view symbol) {
    if (!accept(symbol)) fail(fmt::format("expected '{}', found {}", symbol, shown()));
  }

  void expect_word(std::string_view w) {
    if (!accept_word(w)) fail(fmt::format("expected '{}', found {}", w, shown()));
  }

  // A bare word, or anything in quotes.
  std::string name(std::string_view what) {
    const bool bare = now_.kind == Token::word || (now_.kind == Token::number && corten::is_word(now_.text));
    if (!bare && now_.kind != Token::string) fail(fmt::format("expected {}, found {}", what, shown()));
    std::string s = now_.text;
    advance();
    return s;
  }

  template <class T>
  T number() {
    const std::string s = now_.text;
    T v{};
    if constexpr (std::is_floating_point_v<T>) {
      const bool special = s == "inf" || s == "-inf" || s == "nan";
      if (now_.kind != Token::number && !special) fail("expected a number, found " + shown());
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
      if (error != std::errc() || end != s.data() + s.size()) fail("'" + s + "' is no number");
    } else {
      if (now_.kind != Token::number) fail("expected an integer, found " + shown());
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
      if (error == std::errc::result_out_of_range) fail("'" + s + "' is out of range");
      if (error != std::errc() || end != s.data() + s.size()) fail("'" + s + "' is no integer");
    }
    advance();
    return v;
  }

  template <class F>
  void items(std::string_view close, F&& item) {
    if (accept(close)) return;
    do item();
    while (accept(close) ? false : (expect(","), true));
  }

  template <class T>
  std::vector<T> numbers() {
    std::vector<T> v;
    expect("[");
    items("]", [&] { v.push_back(number<T>()); });
    return v;
  }

  // -- statements

  void statement() {
    if (now_.kind == Token::end) fail("expected 'return' and '}' before the end of the text");
    if (accept_word("input")) {
      g_.inputs.push_back(typed_value());
      permutation(g_.input_perm, g_.inputs.size());
    } else if (accept_word("const")) {
      constant();
    } else {
      node();
    }
  }

  // %name: type[shape] q(...)
  ValueId typed_value() {
    expect("%");
    std::string n = name("a name");
    if (ids_.count(n)) fail("the name %" + n + " is already taken");
    expect(":");
    const std::string type = name("a type");
    const auto dtype = dtype_named(type);
    if (!dtype) fail("unknown type '" + type + "'", "types are f32, i8, i32, i64, u8, i16, b8, f64, f16 and bf16");
    Shape shape = numbers<int64_t>();
    int64_t count = 1;
    for (int64_t d : shape)
      if (d < 0 || __builtin_mul_overflow(count, d, &count) || count > kMaxElements) fail(to_text(shape) + " is out of range");
    const ValueId v = g_.add_value(n, *dtype, std::move(shape));
    ids_[n] = v;
    if (accept_word("q")) g_[v].quant = quant();
    return v;
  }

  void output() {
    g_.outputs.push_back(operand());
    permutation(g_.output_perm, g_.outputs.size());
  }

  // "perm [0, 2, 3, 1]" after the last of `count` inputs or outputs. The list stays empty if none has one.
  void permutation(std::vector<std::vector<int>>& perms, size_t count) {
    if (accept_word("perm")) {
      perms.resize(count);
      perms.back() = numbers<int>();
    } else if (!perms.empty()) {
      perms.resize(count);
    }
  }

  Quant quant() {
    Quant q;
    expect("(");
    q.scale = is("[") ? numbers<double>() : std::vector<double>{number<double>()};
    expect(",");
    q.zero = is("[") ? numbers<int32_t>() : std::vector<int32_t>(q.scale.size(), number<int32_t>());
    while (accept(",")) {
      const std::string key = name("'axis' or 'range'");
      expect("=");
      if (key == "axis") {
        q.axis = number<int>();
      } else if (key == "range") {
        const auto range = numbers<int>();
        if (range.size() != 2) fail("range takes two integers");
        q.lo = range[0], q.hi = range[1];
      } else {
        fail("expected 'axis' or 'range', found '" + key + "'");
      }
    }
    expect(")");
    return q;
  }

  void constant() {
    const ValueId v = typed_value();
    expect("=");
    auto t = make_tensor(g_[v].dtype, g_[v].shape);
    const bool has_text = with_element_type(t->dtype, [&](auto* type) { fill<std::remove_pointer_t<decltype(type)>>(*t); });
    if (!has_text) fail(fmt::format("constants of type {} have no text form", to_text(t->dtype)));
    g_[v].data = std::move(t);
  }

  template <class T>
  void fill(Tensor& t) {
    T* to = t.as<T>();
    const size_t count = size_t(elements(t.shape));
    if (is("[")) {
      const int line = now_.line;
      const std::vector<T> v = numbers<T>();
      if (v.size() != count)
        fail_at(line, fmt::format("{} elements for shape {}, which has {}", v.size(), to_text(t.shape), count));
      std::copy(v.begin(), v.end(), to);
      return;
    }
    const std::string how = name("data: [...], splat(value) or random(seed)");
    if (how == "crc32") {
      fail("the data of this constant is not in the text, only its checksum", "write splat(value) or random(seed) in its place");
    }
    expect("(");
    if (how == "splat") {
      std::fill_n(to, count, number<T>());
    } else if (how == "random") {
      random(t.dtype, to, count, number<uint64_t>());
    } else {
      fail("unknown data '" + how + "'", "known are [...], splat(value) and random(seed)");
    }
    expect(")");
  }

  // Uniform in [-1, 1) for floats, [-127, 127] for signed, [0, 255] for u8, {0, 1} for b8. Part of the format: never to change.
  template <class T>
  static void random(DType dtype, T* to, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++) {
      uint64_t z = (seed += 0x9e3779b97f4a7c15u);  // splitmix64
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      z ^= z >> 31;
      if constexpr (std::is_floating_point_v<T>) {
        to[i] = T(double(int64_t(z >> 40) - (1 << 23)) / double(1 << 23));
      } else if constexpr (std::is_same_v<T, uint8_t>) {
        to[i] = T(z >> (dtype == DType::b8 ? 63 : 56));
      } else {
        to[i] = T(int64_t((z >> 32) % 255) - 127);
      }
    }
  }

  ValueId operand() {
    if (accept_word("none")) return kNone;
    expect("%");
    const std::string n = name("a name");
    auto it = ids_.find(n);
    if (it == ids_.end()) fail("%" + n + " is not defined before this line");
    return it->second;
  }

  void node() {
    Node n;
    if (accept("(")) {
      expect(")");
    } else {
      do n.out.push_back(accept_word("none") ? kNone : typed_value());
      while (accept(","));
    }
    // Not yet visible to its own operands.
    std::vector<std::string> hidden;
    for (ValueId v : n.out)
      if (v != kNone) hidden.push_back(g_[v].name), ids_.erase(g_[v].name);
    expect("=");
    n.op = name("an operator");
    expect("(");
    items(")", [&] { argument(n); });
    if (!n.in_names.empty() && n.in_names.size() != n.in.size()) fail("either all operands have names or none has");
    if (accept("{")) items("}", [&] { attribute(n); });
    n.aten = accept_word("from") ? name("an ATen operator") : default_aten(n.op);
    n.name = accept_word("as") ? name("a node name") : hidden.empty() ? std::string() : hidden[0];
    if (accept("@")) location(n.where);
    for (ValueId v : n.out)
      if (v != kNone) ids_[g_[v].name] = v;
    g_.nodes.push_back(std::move(n));
  }

  void argument(Node& n) {
    if (!is("%") && !is_word("none")) {
      n.in_names.push_back(name("an operand"));
      expect("=");
    }
    n.in.push_back(operand());
  }

  void attribute(Node& n) {
    std::string key = name("an attribute");
    expect("=");
    if (!n.attrs.emplace(key, value()).second) fail("attribute '" + key + "' is given twice");
  }

  Attr value() {
    if (accept_word("true")) return true;
    if (accept_word("false")) return false;
    if (accept_word("floats")) return numbers<double>();
    if (accept_word("strings")) return strings();
    if (now_.kind == Token::string) return name("a string");
    if (!is("[")) return is_real() ? Attr(number<double>()) : Attr(number<int64_t>());
    const size_t at = at_;  // a list takes the type of its first element: look ahead one token
    const Token bracket = now_;
    advance();
    const bool is_strings = now_.kind == Token::string, is_reals = is_real();
    at_ = at, now_ = bracket, line_ = bracket.line;
    if (is_strings) return strings();
    return is_reals ? Attr(numbers<double>()) : Attr(numbers<int64_t>());
  }

  // Whether the number at hand is to be a float: 1.0, 1e-5, inf, nan.
  bool is_real() const {
    if (now_.kind == Token::word) return now_.text == "inf" || now_.text == "nan";
    return now_.kind == Token::number && now_.text.find_first_of(".en") != std::string::npos;
  }

  std::vector<std::string> strings() {
    std::vector<std::string> v;
    expect("[");
    items("]", [&] {
      if (now_.kind != Token::string) fail("expected a string, found " + shown());
      v.push_back(name("a string"));
    });
    return v;
  }

  // @ "file":line in function module path "source text"
  void location(Location& w) {
    w.file = name("a file name in quotes");
    if (accept(":")) w.line = number<int>();
    if (accept_word("in")) w.function = name("a function");
    if (accept_word("module")) w.module = name("a module path");
    if (now_.kind == Token::string) w.text = name("the source line");
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  Token now_;
  Graph g_;
  std::unordered_map<std::string, ValueId> ids_;
};

}  // namespace

Graph parse(std::string_view text, std::string source) { return Parser(text, std::move(source)).run(); }

}  // namespace corten
