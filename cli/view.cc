#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "compiler/interrupt.h"
#include "ir/diag.h"

namespace corten::cli {

namespace {

struct Options {
  std::string file, host = "127.0.0.1";
  int port = 0;
  bool no_open = false;
};

// The package's `corten` says which Python it belongs to; that one takes over.
void run(const Options& o) {
  const char* python = std::getenv("CORTEN_PYTHON");
  if (!python)
    throw Error(Code::no_tool, "`corten view` needs the Python package and Model Explorer",
                "in Corten's folder, `pip install \".[view]\"`, then use the `corten` command that this installs");
  std::vector<std::string> words = {python, "-P", "-m", "corten.model_explorer", "--host", o.host};
  if (o.port) words.insert(words.end(), {"--port", std::to_string(o.port)});
  if (o.no_open) words.push_back("--no-open");
  words.insert(words.end(), {"--", o.file});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  restore_signals();
  execv(python, argv.data());
  throw Error(Code::system, fmt::format("cannot start {}: {}", python, std::strerror(errno)));
}

}  // namespace

void add_view(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("view", "shows a .pt2 or a .corten in the browser, with Model Explorer");
  c->add_option("file", o->file, ".pt2, .corten (with the report.json beside it), or the folder that `corten compile` wrote")
      ->type_name("FILE")
      ->required();
  c->add_option("--host", o->host, "address to listen on; whoever reaches it can read your files")->capture_default_str();
  c->add_option("--port", o->port, "port to listen on (default: the first free one from 8080)")->check(CLI::Range(1, 65535));
  c->add_flag("--no-open", o->no_open, "only print the address");
  c->footer("Examples:\n  corten view model.pt2\n  corten view build/kws/model.corten --port 9000 --no-open");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
