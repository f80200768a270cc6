#include "ir/diag.h"

namespace corten {

namespace {

std::string_view name_of(Severity s) {
  switch (s) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "error";
}

std::string place(const Location& w) {
  std::string s = w.file;
  if (w.line > 0) s += ":" + std::to_string(w.line);
  if (!w.function.empty()) s += " in " + w.function;
  if (!w.text.empty()) s += ": " + w.text;
  return s;
}

}  // namespace

std::string to_text(const Diag& d) {
  std::string s = std::string(name_of(d.severity)) + ": " + d.message;
  if (!d.where.file.empty()) s += "\n  --> " + place(d.where);
  std::string context;
  auto add = [&](std::string_view what, const std::string& name) {
    if (name.empty()) return;
    if (!context.empty()) context += ", ";
    context += what;
    context += name;
  };
  add("node ", d.node);
  add("", d.aten);
  add("module ", d.where.module);
  add("in ", d.subject);
  if (!context.empty()) s += "\n  " + context;
  if (!d.help.empty()) s += "\n  help: " + d.help;
  return s;
}

}  // namespace corten
