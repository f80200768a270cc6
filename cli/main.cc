// The `corten` command. Exit codes: 0 ok, 1 the input is at fault (with a located message), 2 usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "ir/diag.h"

int main(int argc, char** argv) {
  CLI::App app("corten: from a PyTorch model to an Arm Cortex-M microcontroller", "corten");
  app.set_version_flag("--version", CORTEN_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  corten compile model.pt2 --target cortex-m55 --calibrate calib.npz -o build/model\n"
      "  corten run build/model/model.corten --input x.npz --output y.npz\n"
      "  corten bench build/model/model.corten --on qemu\n"
      "`corten COMMAND --help` says more.");
  using namespace corten;
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", to_text(e.diag).c_str());
    return 1;
  } catch (const Errors& e) {
    for (const Diag& d : e.diags) std::fprintf(stderr, "%s\n", to_text(d).c_str());
    if (e.diags.size() > 1) std::fprintf(stderr, "%zu errors\n", e.diags.size());
    return 1;
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "internal error: %s\nThis is a bug in corten; please report it with the command and the model.\n",
                 e.what());
    return 1;
  }
  return 0;
}
