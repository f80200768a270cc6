// Where messages go: gathered, and written to stderr at the end in the form that --diagnostics names.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ir/diag.h"
#include "ir/render.h"

namespace corten::cli {

void add_diagnostics_option(CLI::App&);
// What the command line says, before it is parsed: it may be what is wrong.
void find_format(int argc, char** argv);

void tell(Diag);  // warnings and notes
void tell(const std::vector<Diag>&);
size_t warnings_told();
void write_diagnostics();

// How to write to a stream (1, 2): colour on a terminal unless NO_COLOR or TERM=dumb say no, or where FORCE_COLOR asks for it;
// ASCII only in other locales than UTF-8's.
Style style_of(int stream);

}  // namespace corten::cli
