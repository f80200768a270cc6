#include <fmt/core.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "compiler/files.h"
#include "compiler/json.h"
#include "compiler/npz.h"
#include "compiler/trace_log.h"

namespace corten::cli {

namespace {

struct Options {
  std::string log, image, output;
  bool json = false;
};

std::string text_of(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  const std::vector<uint8_t> bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

void summary(const BoardDump& d, const Program& program) {
  fmt::print("{} lines of values: {} used, {} repeated, {} damaged, {} of another image\n",
             d.used + d.repeated + d.bad + d.other_image, d.used, d.repeated, d.bad, d.other_image);
  const auto j = to_json(d, program);
  for (const auto& i : j["inferences"])
    fmt::print("inference {}: {} of {} steps whole, {} of {} outputs\n", i["inference"].get<int64_t>(),
               i["whole_steps"].get<int64_t>(), program.steps().size(), i["whole_outputs"].get<int64_t>(),
               program.outputs().size());
  for (const IncompleteTensor& t : d.incomplete)
    fmt::print("incomplete: inference {}, {}: {} of {} bytes missing\n", t.inference, t.tensor, t.missing, t.bytes);
  for (int64_t i : d.contradictory) fmt::print("left out: inference {} was sent twice with different values (a reset?)\n", i);
}

void run(const Options& o) {
  const Program program = Program::load(o.image);
  const BoardDump dump = decode_trace(text_of(o.log), program, o.log == "-" ? "<stdin>" : o.log);
  if (!o.output.empty()) write_arrays(o.output, dump_arrays(dump, program));
  if (o.json)
    fmt::print("{}", json_text(to_json(dump, program)));
  else
    summary(dump, program);
}

}  // namespace

void add_decode(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("decode", "values that a board printed with runtime/trace.h, from a UART or semihosting log");
  c->add_option("log", o->log, "the log, other prints and damaged lines included; - reads standard input")
      ->type_name("FILE")
      ->required();
  c->add_option("-i,--image", o->image, "the model.corten that runs on the board")->type_name("FILE")->required();
  c->add_option("-o,--output", o->output,
                "where the values go: .npz with outK (PyTorch's order), stepK (device order), *.inference")
      ->type_name("FILE");
  c->add_flag("--json", o->json, "print JSON");
  c->footer(
      "Example:\n"
      "  corten decode uart.log --image build/kws/model.corten -o board.npz\n"
      "  corten compare kws.pt2 build/kws/model.corten --data eval.npz --board board.npz");
  c->callback([o] { run(*o); });
}

}  // namespace corten::cli
