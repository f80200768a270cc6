// How messages look, to the character.
#include "ir/render.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/budget.h"
#include "compiler/stack_trace.h"

namespace corten {
namespace {

namespace fs = std::filesystem;

// A working directory with a model.py whose 31st line calls topk.
class Workplace {
 public:
  Workplace() : before_(fs::current_path()) {
    fs::create_directories(here_);
    fs::current_path(here_);
    std::ofstream file("model.py");
    for (int i = 1; i < 31; i++) file << "#\n";
    file << "        values, _ = torch.topk(x, 5)\n        return self.fc(x) + self.fc(y)\n";
  }
  ~Workplace() {
    fs::current_path(before_);
    fs::remove_all(here_);
  }
  std::string path(const char* name) const { return (here_ / name).string(); }

 private:
  fs::path before_, here_ = fs::canonical(fs::temp_directory_path()) / ("corten-render-" + std::to_string(getpid()));
};

Diag topk(const Workplace& w, const std::string& module) {
  Diag d(Code::unsupported_operator, "operator aten.topk.default is not supported", "rewrite this line");
  d.subject = w.path("kws.pt2"), d.node = "topk", d.aten = "aten.topk.default";
  d.where = {w.path("model.py"), 31, "forward", "values, _ = torch.topk(x, 5)", "", module};
  return d;
}

Diag twice(const Workplace& w) {
  Diag d(Code::unsupported_use, "not like this");
  d.where = {w.path("model.py"), 32, "forward", "return self.fc(x) + self.fc(y)", "", "fc"};
  d.node = "linear", d.aten = "aten.linear.default";
  return d;
}

std::string under(const std::string& text, const std::string& aten, const std::string& module = "", const std::string& marks = "") {
  Diag d(Code::unsupported_use, "m");
  d.where = {"m.py", 1, "forward", text, marks, module}, d.aten = aten;
  const std::string page = render(std::vector{d}, Format::full);
  const size_t at = page.find("1 | ") + 4, end = page.find('\n', at), line = page.find("| ", end) + 2;
  return page.substr(line, page.find('\n', line) - line);
}

TEST_CASE("the full page: place, underline, notes, help; repeats are one") {
  const Workplace w;
  Diag warning(Code::few_samples, "ranges are taken from 3 samples only", "give more");
  warning.severity = Severity::warning, warning.subject = "calib.npz";
  Diag cost = twice(w);
  cost.notes = {"float32 here: 12,000 instructions", "two\nlines"};
  const std::vector<Diag> all = {topk(w, "heads.0"), topk(w, "heads.1"), topk(w, "heads.2"), cost, warning};
  CHECK(render(all, Format::full) ==
        "error[C0101]: operator aten.topk.default is not supported\n"
        "  --> model.py:31:21\n"
        "   |\n"
        "31 | values, _ = torch.topk(x, 5)\n"
        "   |             ^^^^^^^^^^\n"
        "   = note: module heads.0, node topk (aten.topk.default) of kws.pt2\n"
        "   = note: and 2 more places: heads.1, heads.2\n"
        "   = help: rewrite this line\n"
        "error[C0102]: not like this\n"
        "  --> model.py:32:9\n"
        "   |\n"
        "32 | return self.fc(x) + self.fc(y)\n"
        "   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = note: module fc, node linear (aten.linear.default)\n"
        "   = note: float32 here: 12,000 instructions\n"
        "   = note: two\n"
        "           lines\n"
        "warning[W0201]: ranges are taken from 3 samples only\n"
        " --> calib.npz\n"
        "  = help: give more\n"
        "2 errors in 4 places, 1 warning\n");
  CHECK(render({}, Format::full) == "");
  const std::string coloured = render(std::vector{warning}, Format::full, {.colour = true, .utf8 = true});
  CHECK(coloured.find("\033[1;33mwarning[W0201]\033[0m") == 0);
}

TEST_CASE("the underline: what Python marked, what is called, if it is there once") {
  CHECK(under("y = x.relu(a)", "aten.relu.default") == "    ^^^^^^");
  CHECK(under("y = F.relu_(a)", "aten.relu_.default") == "    ^^^^^^^");
  CHECK(under("y = self.conv(self.pool(x))", "aten.conv2d.default", "net.conv") == "    ^^^^^^^^^");
  CHECK(under("y = self.conv(x) + self.conv2(x)", "aten.conv2d.default", "conv") == "    ^^^^^^^^^");
  CHECK(under("y = a + b", "aten.add.Tensor") == "      ^");
  CHECK(under("y = a ** b * c", "aten.mul.Tensor") == "           ^");
  CHECK(under("y = a + b + c", "aten.add.Tensor") == "^^^^^^^^^^^^^");
  CHECK(under("y = f(a, b)", "aten.add.Tensor", "", "    ~^^^^^^") == "    ~^^^^^^");
  CHECK(under("\xc3\xa4 = x.relu()", "aten.relu.default") == "    ^^^^^^");
  const Location l = parse_stack_trace("  File \"m.py\", line 3, in forward\n    y = a @ b + c\n        ~~^~~\n");
  CHECK(l.text == "y = a @ b + c");
  CHECK(l.marks == "    ~~^~~");
}

TEST_CASE("the other forms") {
  const Workplace w;
  Diag d = topk(w, "a.b");
  d.message = "50%: one,\ntwo";
  const std::vector<Diag> all = {d, topk(w, "c"), topk(w, "d")};
  CHECK(render(all, Format::concise) ==
        "model.py:31:21: error[C0101]: 50%: one, two\n"
        "model.py:31:21: error[C0101]: operator aten.topk.default is not supported\n");
  CHECK(render(std::vector{d}, Format::github) ==
        "::error file=model.py,line=31,col=21,endColumn=30,title=C0101 an operator is not supported::50%25: one,%0Atwo%0Ahelp: "
        "rewrite this line\n");
  CHECK(render({}, Format::json) == "[]\n");
  const auto json = nlohmann::json::parse(render(all, Format::json));
  REQUIRE(json.size() == 2);
  CHECK(json[0]["line"] == 31);
  CHECK(json[0]["column"] == 21);
  CHECK(json[0]["end_column"] == 31);
  CHECK(json[1]["places"].size() == 2);
  CHECK(json[1]["places"][1]["module"] == "d");
  const auto sarif = nlohmann::json::parse(render(all, Format::sarif));
  const auto& run = sarif["runs"][0];
  CHECK(run["tool"]["driver"]["rules"].size() == 1);
  CHECK(run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "model.py");
  CHECK(run["results"][1]["locations"][0]["physicalLocation"]["region"]["startColumn"] == 21);
}

TEST_CASE("a source that is not at hand has no column") {
  Diag d(Code::unsupported_operator, "m");
  d.where = {"/nowhere/model.py", 3, "forward", "x.sort()", "", ""}, d.aten = "aten.sort.default";
  CHECK(render(std::vector{d}, Format::concise) == "/nowhere/model.py:3: error[C0101]: m\n");
  CHECK(nlohmann::json::parse(render(std::vector{d}, Format::json))[0]["column"].is_null());
}

TEST_CASE("nothing steers the terminal, and ASCII is ASCII") {
  CHECK(printable("a\033[2Jb\xff\xe2\x80\xae") == "a\\x1b[2Jb\\xff\\u202e");
  CHECK(printable("gr\xc3\xb6\xc3\x9f", true) == "gr\xc3\xb6\xc3\x9f");
  CHECK(printable("gr\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80", false) == "gr\\xf6\\u20ac\\U0001f600");
}

TEST_CASE("codes are in order, unique and explained") {
  std::set<std::string_view> texts;
  for (const CodeInfo& c : all_codes()) {
    CHECK(texts.insert(c.text).second);
    CHECK(&info_of(c.code) == &c);
    CHECK(find_code(c.text) == &c);
    CHECK(!c.title.empty());
    CHECK(!c.why.empty());
    CHECK(c.wrong.empty() == c.right.empty());
  }
  CHECK(find_code("c0101")->code == Code::unsupported_operator);
  CHECK(find_code("C9999") == nullptr);
}

TEST_CASE("sizes as people write them") {
  CHECK(parse_bytes("65536") == 65536);
  CHECK(parse_bytes("64K") == 65536);
  CHECK(parse_bytes("64KiB") == 65536);
  CHECK(parse_bytes("1M") == 1048576);
  CHECK(parse_bytes("1.5MiB") == 1572864);
  for (const char* wrong : {"", "K", "-1", "1G", "64 K", "1e3", "nan", "64KB", "99999999999999999999"}) CHECK(!parse_bytes(wrong));
  CHECK(grouped_digits(0) == "0");
  CHECK(grouped_digits(999) == "999");
  CHECK(grouped_digits(1234567) == "1,234,567");
}

}  // namespace
}  // namespace corten
