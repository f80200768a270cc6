// A message's words and its place in one string, for tests of what is said; how it looks is test/render_test.cc's.
#pragma once
#include <string>

#include "ir/diag.h"

namespace corten {

inline std::string place_text(const Location& w) {
  std::string s = w.file;
  if (w.line > 0) s += ":" + std::to_string(w.line);
  if (!w.function.empty()) s += " in " + w.function;
  if (!w.text.empty()) s += ": " + w.text;
  return s;
}

inline std::string told(const Diag& d) {
  std::string s = "error: " + d.message;
  if (!d.where.file.empty()) s += "\n  --> " + place_text(d.where);
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
