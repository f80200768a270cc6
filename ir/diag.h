// Located errors. A pass throws Error for one node; the pipeline collects them and stops after the pass that had any.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/codes.h"

namespace corten {

// A place in the user's Python: the innermost frame of the exported stack_trace that is not PyTorch's own.
struct Location {
  std::string file;      // as exported
  int line = 0;          // 0: unknown
  std::string function;  // "forward"
  std::string text;      // the source line, stripped
  std::string marks;     // what Python put under the text, from its first character: "    ~~~^^^"; "" if nothing
  std::string module;    // path of the nn.Module, "layers.0.conv"
  bool library = false;  // no frame is the user's: a line of PyTorch's, which tables leave out for the module
};

enum class Severity { error, warning, note };

struct Diag {
  explicit Diag(Code c, std::string what = {}, std::string to_do = {})
      : code(c), message(std::move(what)), help(std::move(to_do)) {}

  Code code;
  Severity severity = Severity::error;
  std::string message;             // what is wrong, with the values
  std::string help;                // what to do
  std::vector<std::string> notes;  // what else there is to know: costs, the largest contributors
  std::string subject;             // the .pt2, .npz or .corten file
  std::string node;                // node in the graph, "" if none
  std::string aten;                // its ATen op, "" if none
  Location where;
};

struct Error : std::runtime_error {
  explicit Error(Code code, std::string message, std::string help = {})
      : std::runtime_error(message), diag(code, message, std::move(help)) {}
  explicit Error(Diag d) : std::runtime_error(d.message), diag(std::move(d)) {}
  Diag diag;
};

// What a pass that met several errors throws.
struct Errors : std::runtime_error {
  explicit Errors(std::vector<Diag> d) : std::runtime_error(d.empty() ? "" : d[0].message), diags(std::move(d)) {}
  std::vector<Diag> diags;
};

// The Error that readers and writers of files throw: about the file as a whole.
[[noreturn]] void fail_file(std::string path, Code, std::string message, std::string help = {});

}  // namespace corten
