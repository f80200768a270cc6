// The `corten` command. Exit codes: 0 ok, 1 the input is at fault (with a located message), 2 usage, 130 Ctrl-C.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "compiler/interrupt.h"
#include "ir/close_names.h"
#include "ir/diag.h"

namespace corten::cli {

namespace {

constexpr const char* kReport = "this is a bug in corten; please report it with the command and the model";

// The subcommand that the words name, or the command itself.
CLI::App& named_in(CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; i++)
    for (CLI::App* c : app.get_subcommands({}))
      if (c->get_name() == argv[i]) return *c;
  return app;
}

// Options and subcommands that look like a word which is neither.
std::string close_to(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known, close;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App* s) { return !s->get_group().empty(); }))
    known.push_back(c->get_name());
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
  for (int i = 1; i < argc; i++) {
    const std::string word = std::string(argv[i]).substr(0, std::strcspn(argv[i], "="));
    if (word.size() < 3 || std::find(known.begin(), known.end(), word) != known.end()) continue;
    for (const std::string& name : known)
      if (edit_distance(word, name) <= 2) close.push_back(name);
  }
  std::string text;
  for (const std::string& name : close) text += (text.empty() ? "did you mean " : " or ") + name;
  return text.empty() ? "" : text + "? ";
}

Diag usage(CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  const CLI::App& command = named_in(app, argc, argv);
  const std::string name = &command == &app ? "corten" : "corten " + command.get_name();
  std::string message = e.what();
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
  const std::vector<std::string> rest = app.remaining();
  if (&command == &app && !rest.empty() && rest[0][0] != '-') message = "there is no command \"" + rest[0] + '"';
  return Diag(Code::usage, message, close_to(command, argc, argv) + "`" + name + " --help` lists what there is");
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw Error(Code::cannot_write, "cannot write to the standard output");
    return 0;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      const int code = app.exit(e);
      std::cout.flush();
      if (std::cout) return code;
      tell(Diag(Code::cannot_write, "cannot write to the standard output"));
      return 1;
    }
    tell(usage(app, e, argc, argv));
    return 2;
  } catch (const Error& e) {
    tell(e.diag);
    return e.diag.code == Code::usage ? 2 : 1;
  } catch (const Errors& e) {
    tell(e.diags);
    return 1;
  } catch (const std::bad_alloc&) {
    tell(Diag(Code::system, "out of memory"));
    return 1;
  } catch (const std::system_error& e) {  // fmt's, where the standard output is full or closed
    tell(Diag(Code::cannot_write, e.what()));
    return 1;
  } catch (const std::exception& e) {
    tell(Diag(Code::internal, std::string("internal error: ") + e.what(), kReport));
    return 1;
  }
}

}  // namespace

}  // namespace corten::cli

int main(int argc, char** argv) {
  using namespace corten;
  std::signal(SIGPIPE, SIG_DFL);  // `corten operators | head` ends quietly
  end_cleanly_on_signals();
  CLI::App app("corten: from a PyTorch model to an Arm Cortex-M microcontroller", "corten");
  app.set_version_flag("--version", CORTEN_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  corten compile model.pt2 --target cortex-m55 --calibrate calib.npz -o build/model\n"
      "  corten run build/model/model.corten --input x.npz --output y.npz\n"
      "  corten bench build/model/model.corten --on qemu\n"
      "`corten COMMAND --help` says more.");
  cli::add_compile(app);
  cli::add_run(app);
  cli::add_bench(app);
  cli::add_cycles(app);
  cli::add_compare(app);
  cli::add_decode(app);
  cli::add_report(app);
  cli::add_inspect(app);
  cli::add_view(app);
  cli::add_targets(app);
  cli::add_operators(app);
  cli::add_explain(app);
  cli::add_completions(app);
  cli::add_diagnostics_option(app);
  for (CLI::App* c : app.get_subcommands({})) cli::add_diagnostics_option(*c);
  cli::find_format(argc, argv);
  const int code = cli::run(app, argc, argv);
  cli::write_diagnostics();
  return code;
}
