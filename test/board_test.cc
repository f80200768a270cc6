// The tiny model on every emulated board: the same bytes as on the host, and its cost.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/board.h"
#include "compiler/elf.h"
#include "compiler/emit.h"
#include "compiler/firmware.h"
#include "compiler/process.h"
#include "test/tiny_plan.h"

using namespace corten;
using namespace corten::test;

static bool can_emulate() { return !find_program("qemu-system-arm").empty() && !find_program("arm-none-eabi-g++").empty(); }

TEST_CASE("target: names") {
  CHECK(target_named("cortex-m55").tier == Tier::mve);
  try {
    target_named("cortex-m5");
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.diag.help.find("cortex-m55") != std::string::npos);
  }
  CHECK_THROWS_AS(target_named(""), Error);
}

TEST_CASE("process: output, exit code, time limit, a program that is not there") {
  CHECK(run_process({"sh", "-c", "echo a; echo b >&2; exit 3"}, "/", 10).output == "a\nb\n");
  CHECK(run_process({"sh", "-c", "exit 3"}, "/", 10).exit_code == 3);
  CHECK(run_process({"sleep", "20"}, "/", 1).timed_out);
  CHECK(run_process({"no-such-program"}, "/", 10).exit_code == 127);
}

TEST_CASE("firmware: a kernel's sources by tier") {
  const auto has = [](Tier tier, const char* file) {
    const auto sources = kernel_sources(source_root(), "conv2d_s8_scalar", tier);
    return std::find(sources.begin(), sources.end(), file) != sources.end();
  };
  CHECK(has(Tier::scalar, "ops/conv2d/scalar.cc"));
  CHECK(!has(Tier::mve, "ops/conv2d/test.cc"));
  CHECK(!has(Tier::mve, "ops/conv2d/op.cc"));
  for (const auto& file : kernel_sources(source_root(), "conv2d_s8_scalar", Tier::scalar)) {
    CHECK(file.string().find("dsp") == std::string::npos);
    CHECK(file.string().find("mve") == std::string::npos);
  }
  CHECK_THROWS_AS(kernel_sources(source_root(), "no_such_kernel", Tier::mve), Error);
}

TEST_CASE("firmware: model.h in C and C++, model.cc in C++, without a warning" * doctest::skip(!can_emulate())) {
  const std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  TemporaryDirectory directory;
  write_text(directory.path() / "model.h", emit_header(image));
  write_text(directory.path() / "model.cc", emit_source(image));
  const std::string user =
      "#include \"model.h\"\nstatic TINY_ARENA(arena);\nstatic corten_model model;\n"
      "int start(void) { return tiny_init(&model, arena, sizeof arena) == CORTEN_OK; }\n";
  write_text(directory.path() / "user.c", user);
  write_text(directory.path() / "user.cc",
             user + "corten::Model m;\nint more() { return tiny::init(m, arena) + tiny::input0::kH; }\n");
  for (const std::string compiler : {"arm-none-eabi-g++ -mcpu=cortex-m0plus", "g++", "clang++"}) {
    if (find_program(compiler.substr(0, compiler.find(' '))).empty()) continue;
    for (const char* file : {"model.cc -std=c++17", "user.cc -std=c++17", "-x c user.c -std=c99"}) {
      const std::string command = compiler + " -Wall -Wextra -Wshadow -Werror -I. -I\"$0\" -c -o out.o " + file;
      const ProcessResult r = run_process({"sh", "-c", command, source_root()}, directory.path(), 60);
      CHECK_MESSAGE(r.ok(), command << ": " << r.output);
    }
  }
}

TEST_CASE("board: every target gives the host's bytes" * doctest::skip(!can_emulate())) {
  for (const Target& target : all_targets()) {
    TinyPlan tiny(target.tier, std::string(target.name));
    const Program program = Program::from_bytes(emit_image(tiny.plan));
    std::vector<Sample> samples;
    for (uint32_t i = 0; i < 9; i++) samples.push_back({tiny.input(i)});
    const BoardRun run = run_on_board(program, samples);
    CHECK_MESSAGE(run.outputs == program.run_all(samples), target.name);
    CHECK(run.state_bytes <= 256);
    CHECK(run.run_stack_bytes > 0);
    CHECK(run.run_stack_bytes < 512);
  }
}

TEST_CASE("board: a bench counts every instruction and says what it takes" * doctest::skip(!can_emulate())) {
  for (const char* name : {"cortex-m0plus", "cortex-m4", "cortex-m55"}) {
    const Target& target = target_named(name);
    TinyPlan tiny(target.tier, name);
    const Program program = Program::from_bytes(emit_image(tiny.plan));
    TemporaryDirectory keep;
    BoardOptions options;
    options.keep = keep.path();
    const Bench bench = bench_on_board(program, {tiny.input(1)}, options);
    REQUIRE(bench.steps.size() == 2);
    CHECK(bench.steps[0].kernel == "conv2d_s8_scalar");
    CHECK(bench.steps[0].instructions > 36 * 8 * 27);
    CHECK(bench.steps[1].instructions > 2880);
    CHECK(bench.instructions - bench.steps[0].instructions - bench.steps[1].instructions < 100);
    uint64_t by_function = 0;
    for (const auto& [function, count] : bench.functions) by_function += count;
    CHECK(by_function == bench.instructions);
    CHECK(bench.image_bytes == program.image().size());
    CHECK(bench.arena_bytes == 416);
    CHECK(bench.code_bytes > 1500);
    CHECK(bench.code_bytes < 6000);
    CHECK(to_json(bench)["steps"][0]["node"] == "conv");
    // The kept ELF runs by itself, with no file beside it.
    const std::vector<std::string> argv = {
        "qemu-system-arm", "-M",      std::string(target.machine), "-nographic", "-monitor", "none", "-serial", "none",
        "-semihosting",    "-kernel", keep.path() / "tiny.elf"};
    CHECK(run_process(argv, "/", 60).ok());
    MESSAGE(std::string(name) << ": " << bench.instructions << " instructions, code " << bench.code_bytes << ", stack "
                              << bench.stack_bytes << " (init " << bench.init_stack_bytes << "), state " << bench.state_bytes
                              << ", image " << bench.image_bytes);
  }
}
