#include "compiler/board.h"

#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "compiler/cycles.h"
#include "compiler/elf.h"
#include "compiler/firmware.h"
#include "compiler/process.h"

namespace corten {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEmulator = "qemu-system-arm";

std::string function_name(const Elf& elf, uint32_t address) {
  const ElfSymbol* s = elf.function_at(address);
  return s ? s->name : fmt::format("{:#x}", address);
}

// Turns a run that did not end well into an Error that says where.
[[noreturn]] void report_failure(const Program& program, const fs::path& elf_path, const ProcessResult& r, int timeout_seconds) {
  const std::string board = fmt::format("{} on the emulated {}", program.name(), program.target());
  if (r.timed_out)
    throw Error(Code::board_timeout, fmt::format("{} did not finish in {} s", board, timeout_seconds),
                "fewer samples, or a longer --timeout");
  unsigned pc = 0, lr = 0, cause = 0;
  const size_t fault = r.output.find("FAULT at pc ");
  if (fault != std::string::npos && sscanf(r.output.c_str() + fault, "FAULT at pc %x lr %x cfsr %x", &pc, &lr, &cause) == 3) {
    const Elf elf = Elf::load(elf_path);
    throw Error(Code::board_failed, fmt::format("{} faulted in {} (pc {:#x}, called from {}, CFSR {:#x})", board,
                                                function_name(elf, pc & ~1u), pc, function_name(elf, lr & ~1u), cause));
  }
  throw Error(Code::board_failed, fmt::format("{} stopped with exit code {}{}: {}", board, r.exit_code,
                                              r.signal ? fmt::format(" (signal {})", r.signal) : "", r.output));
}

struct BoardReport {
  uint32_t samples = 0, init_stack = 0, run_stack = 0, state = 0;
  std::string output;
};

BoardReport emulate(const Program& program, const fs::path& elf, const fs::path& directory, const std::vector<std::string>& more,
                    int timeout_seconds) {
  const Target& target = target_named(program.target());
  std::vector<std::string> argv = {kEmulator,
                                   "-M",
                                   std::string(target.machine),
                                   "-nographic",
                                   "-monitor",
                                   "none",
                                   "-serial",
                                   "none",
                                   "-semihosting-config",
                                   "enable=on,target=native",
                                   "-kernel",
                                   elf};
  argv.insert(argv.end(), more.begin(), more.end());
  const ProcessResult r = run_process(argv, directory, timeout_seconds);
  BoardReport report;
  const size_t at = r.output.find("corten samples ");
  if (!r.ok() || at == std::string::npos ||
      sscanf(r.output.c_str() + at, "corten samples %u stack_init %u stack_run %u state %u", &report.samples, &report.init_stack,
             &report.run_stack, &report.state) != 4)
    report_failure(program, elf, r, timeout_seconds);
  report.output = r.output;
  return report;
}

void require_emulator() {
  if (find_program(kEmulator).empty())
    throw Error(Code::no_tool, fmt::format("{} is not installed", kEmulator), "apt-get install qemu-system-arm");
}

std::string concatenated(const Program& program, const std::vector<Sample>& samples, size_t from, size_t to) {
  std::string bytes;
  for (size_t n = from; n < to; n++) {
    if (samples[n].size() != program.inputs().size())
      throw Error(Code::wrong_inputs,
                  fmt::format("{} takes {} inputs, not {}", program.name(), program.inputs().size(), samples[n].size()));
    for (size_t i = 0; i < samples[n].size(); i++) {
      if (samples[n][i].size() != program.inputs()[i].bytes)
        throw Error(Code::wrong_inputs, fmt::format("\"{}\" takes {} bytes, not {}", program.inputs()[i].name,
                                                    program.inputs()[i].bytes, samples[n][i].size()));
      bytes.append(samples[n][i].begin(), samples[n][i].end());
    }
  }
  return bytes;
}

void keep_file(const BoardOptions& options, const fs::path& file, const std::string& name, std::string* kept = nullptr) {
  if (options.keep.empty()) return;
  std::error_code error;
  fs::create_directories(options.keep, error);
  const fs::path to = options.keep / name;
  if (error || !fs::copy_file(file, to, fs::copy_options::overwrite_existing, error))
    throw Error(Code::cannot_write, "cannot write " + to.string() + ": " + error.message());
  if (kept) *kept = to;
}

// Samples [from, to) in one emulator.
BoardReport run_part(const Program& program, const fs::path& elf, const std::vector<Sample>& samples, size_t from, size_t to,
                     int timeout_seconds, std::vector<Sample>& outputs) {
  TemporaryDirectory directory;
  write_text(directory.path() / "corten.in", concatenated(program, samples, from, to));
  const BoardReport report = emulate(program, elf, directory.path(), {}, timeout_seconds);
  const std::string bytes = read_text(directory.path() / "corten.out");
  size_t at = 0, each = 0;
  for (const IoInfo& o : program.outputs()) each += o.bytes;
  if (bytes.size() != each * (to - from))
    throw Error(Code::board_failed, fmt::format("the board wrote {} bytes of output, not {}", bytes.size(), each * (to - from)));
  for (size_t n = from; n < to; n++)
    for (const IoInfo& o : program.outputs()) {
      outputs[n].emplace_back(bytes.begin() + long(at), bytes.begin() + long(at + o.bytes));
      at += o.bytes;
    }
  return report;
}

// The calls of kernels: indirect ones, in the runtime's functions of this name.
std::vector<uint32_t> kernel_calls(const Elf& elf) {
  std::vector<uint32_t> calls;
  for (const ElfSymbol& s : elf.symbols()) {
    if (!s.function || s.name.find("run_step") == std::string::npos) continue;
    const std::vector<uint8_t> code = elf.bytes(s.address, s.size);
    for (uint32_t i = 0; i + 1 < code.size();) {
      const uint32_t half = uint32_t(code[i] | code[i + 1] << 8);
      if ((half & 0xff87) == 0x4780) calls.push_back(s.address + i);  // blx register
      i += (half >> 11) >= 0x1d ? 4 : 2;                              // 32-bit instructions start with 0b11101, 0b11110 or 0b11111
    }
  }
  if (calls.empty()) throw Error(Code::board_failed, "the firmware has no calls of kernels");
  return calls;
}

void take_counts(std::vector<Counts> blocks, const Program& program, Bench& bench) {
  if (blocks.size() != program.steps().size() + 1)
    throw Error(Code::board_failed, fmt::format("the emulator counted {} steps, not {}", blocks.empty() ? 0 : blocks.size() - 1,
                                                program.steps().size()));
  bench.rest = std::move(blocks.back());
  for (size_t i = 0; i < program.steps().size(); i++) {
    BenchStep s{program.steps()[i].node, program.steps()[i].kernel, 0, 0, std::move(blocks[i])};
    for (const auto& [address, count] : s.counts) s.instructions += count;
    bench.steps.push_back(std::move(s));
  }
}

void sum_counts(const Elf& elf, const CycleModel& model, Bench& bench) {
  Counts all = bench.rest;
  for (BenchStep& s : bench.steps) {
    s.cycles = model.cycles(s.counts);
    for (const auto& [address, count] : s.counts) all[address] += count;
  }
  for (const auto& [address, count] : all) bench.instructions += count, bench.functions[function_name(elf, address)] += count;
  bench.cycles = model.cycles(all);
}

}  // namespace

BoardRun run_on_board(const Program& program, const std::vector<Sample>& samples, const BoardOptions& options) {
  require_emulator();
  TemporaryDirectory build;
  const fs::path elf = build_firmware(program, build.path(), options.trace);
  keep_file(options, elf, elf.filename());
  BoardRun run;
  run.outputs.resize(samples.size());
  // One board where it traces: it numbers the inferences.
  const size_t most = options.trace ? 1 : std::thread::hardware_concurrency();
  const size_t parts = std::max<size_t>(1, std::min<size_t>(most, samples.size() / 4));
  std::vector<std::exception_ptr> failures(parts);
  std::vector<BoardReport> reports(parts);
  const auto work = [&](size_t k) {
    try {
      reports[k] = run_part(program, elf, samples, samples.size() * k / parts, samples.size() * (k + 1) / parts,
                            options.timeout_seconds, run.outputs);
    } catch (...) {
      failures[k] = std::current_exception();
    }
  };
  std::vector<std::thread> pool;
  for (size_t k = 1; k < parts; k++) pool.emplace_back(work, k);
  work(0);
  for (std::thread& t : pool) t.join();
  for (size_t k = 0; k < parts; k++) {
    if (failures[k]) std::rethrow_exception(failures[k]);
    run.init_stack_bytes = std::max(run.init_stack_bytes, reports[k].init_stack);
    run.run_stack_bytes = std::max(run.run_stack_bytes, reports[k].run_stack);
    run.state_bytes = reports[k].state;
    if (options.trace) run.log = std::move(reports[k].output);
  }
  return run;
}

BoardDump trace_on_board(const Program& program, const Samples& samples, int64_t count) {
  std::vector<Sample> in = device_samples(program, samples, count);
  BoardOptions options;
  options.trace = true;
  return decode_trace(run_on_board(program, in, options).log, program, "qemu");
}

Bench bench_on_board(const Program& program, const Sample& input, const BoardOptions& options) {
  require_emulator();
  TemporaryDirectory build;
  const fs::path path = build_firmware(program, build.path());
  Bench bench;
  keep_file(options, path, path.filename(), &bench.elf);
  const Elf elf = Elf::load(path);
  const ElfSymbol *begin = elf.symbol("corten_bench_begin"), *end = elf.symbol("corten_bench_end");
  if (!begin || !end) throw Error(Code::board_failed, "the firmware has no corten_bench_begin and corten_bench_end");
  TemporaryDirectory run;
  const fs::path counts = run.path() / "counts";
  if (!input.empty()) write_text(run.path() / "corten.in", concatenated(program, {input}, 0, 1));
  std::string plugin =
      fmt::format("{},out={},begin={:x},end={:x}", counting_plugin().string(), counts.string(), begin->address, end->address);
  for (uint32_t address : kernel_calls(elf)) plugin += fmt::format(",call={:x}", address);
  const BoardReport report = emulate(program, path, run.path(), {"-plugin", plugin}, options.timeout_seconds);

  bench.model = program.name(), bench.target = program.target();
  bench.arena_bytes = program.arena_bytes(), bench.image_bytes = uint32_t(program.image().size());
  bench.state_bytes = report.state, bench.stack_bytes = report.run_stack, bench.init_stack_bytes = report.init_stack;
  bench.code_bytes = code_bytes(elf);
  for (const ElfSection& s : elf.sections())
    if (s.in_flash()) bench.flash[s.name] += s.size;
  take_counts(read_counts(counts), program, bench);
  sum_counts(elf, CycleModel(path, target_named(program.target()).pipeline), bench);
  keep_file(options, counts, program.name() + ".counts", &bench.counts);
  return bench;
}

nlohmann::json to_json(const Bench& b) {
  nlohmann::json steps = nlohmann::json::array();
  for (const BenchStep& s : b.steps)
    steps.push_back({{"node", s.node}, {"kernel", s.kernel}, {"instructions", s.instructions}, {"est_cycles", s.cycles}});
  nlohmann::json j = {{"model", b.model},
                      {"target", b.target},
                      {"instructions", b.instructions},
                      {"est_cycles", b.cycles},
                      {"arena_bytes", b.arena_bytes},
                      {"state_bytes", b.state_bytes},
                      {"stack_bytes", b.stack_bytes},
                      {"init_stack_bytes", b.init_stack_bytes},
                      {"image_bytes", b.image_bytes},
                      {"code_bytes", b.code_bytes},
                      {"flash", b.flash},
                      {"functions", b.functions},
                      {"steps", steps}};
  if (!b.elf.empty()) j["elf"] = b.elf, j["counts"] = b.counts;
  return j;
}

}  // namespace corten
