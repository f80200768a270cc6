#include "cli/diagnostics.h"

#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
#include <map>

namespace corten::cli {

namespace {

const std::map<std::string, Format> kFormats = {{"full", Format::full},
                                                {"concise", Format::concise},
                                                {"json", Format::json},
                                                {"github", Format::github},
                                                {"sarif", Format::sarif}};
constexpr const char* kOption = "--diagnostics";

Format format = Format::full;
std::vector<Diag> told;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

bool is_on(const char* variable) { return is_set(variable) && std::strcmp(std::getenv(variable), "0") != 0; }

}  // namespace

void add_diagnostics_option(CLI::App& app) {
  app.add_option(kOption, "how messages look on stderr: full, concise, json, github (annotations) or sarif")
      ->check(CLI::IsMember({"full", "concise", "json", "github", "sarif"}))
      ->type_name("FORM");
}

void find_format(int argc, char** argv) {
  const std::string with = std::string(kOption) + "=";
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    const std::string value = word.starts_with(with)            ? word.substr(with.size())
                              : word == kOption && i + 1 < argc ? argv[i + 1]
                                                                : "";
    if (const auto known = kFormats.find(value); known != kFormats.end()) format = known->second;
  }
}

void tell(Diag d) { told.push_back(std::move(d)); }

void tell(const std::vector<Diag>& diags) { told.insert(told.end(), diags.begin(), diags.end()); }

size_t warnings_told() {
  size_t n = 0;
  for (const Group& g : grouped(told)) n += g.diag.severity == Severity::warning;
  return n;
}

void write_diagnostics() {
  const std::string text = render(told, format, style_of(2));
  std::fputs(text.c_str(), stderr);
}

Style style_of(int stream) {
  std::setlocale(LC_CTYPE, "");
  Style s;
  s.utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const char* term = std::getenv("TERM");
  if (is_set("NO_COLOR"))
    s.colour = false;
  else if (is_on("FORCE_COLOR") || is_on("CLICOLOR_FORCE"))
    s.colour = true;
  else
    s.colour = isatty(stream) && !(term && std::strcmp(term, "dumb") == 0);
  return s;
}

}  // namespace corten::cli
