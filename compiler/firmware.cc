#include "compiler/firmware.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "compiler/emit.h"
#include "compiler/process.h"

namespace corten {
namespace fs = std::filesystem;
namespace {

constexpr const char* kCompiler = "arm-none-eabi-g++";
constexpr const char* kKernelOptimisation = "-O2";
constexpr const char* kMveOptimisation = "-Os";  // their inner loops are assembly: the rest only has to be small
constexpr const char* kRuntimeOptimisation = "-Os";
constexpr int kJobs = 2, kCompileSeconds = 300;

bool has_sources(const fs::path& p) { return fs::exists(p / "runtime/run.cc") && fs::exists(p / "ops"); }

std::string environment(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

// 128 bits of FNV-1a, by two starting values: names of cached objects, no defence against anyone.
class Hash {
 public:
  void add(const std::string& text) {
    for (uint64_t& h : h_) {
      for (char c : text) h = (h ^ uint8_t(c)) * 1099511628211u;
      h = (h ^ text.size()) * 1099511628211u;
    }
  }
  std::string text() const { return fmt::format("{:016x}{:016x}", h_[0], h_[1]); }

 private:
  uint64_t h_[2] = {14695981039346656037u, 0x5bd1e9955bd1e995u};
};

// Names and contents of all headers that code for the core may include.
std::string headers_hash(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* part : {"runtime", "ops", "test/board"})
    for (const fs::directory_entry& e : fs::recursive_directory_iterator(root / part)) {
      const std::string extension = e.path().extension();
      if (extension == ".h" || extension == ".inc" || extension == ".def") files.push_back(e.path());
    }
  std::sort(files.begin(), files.end());
  Hash hash;
  for (const fs::path& f : files) hash.add(f.lexically_relative(root)), hash.add(read_text(f));
  return hash.text();
}

// By their names, as in cmake/core.cmake.
bool file_of_tier(const std::string& stem, Tier tier) {
  for (const char* host : {"op", "test", "twin", "legalize"})
    if (stem.ends_with(host)) return false;
  if (stem.find("mve") != std::string::npos) return tier == Tier::mve;
  return tier != Tier::scalar || stem.find("dsp") == std::string::npos;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto part = [&](size_t i) { return i < text.size() && (isalnum(uint8_t(text[i])) || text[i] == '_'); };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !part(at - 1)) && !part(at + word.size())) return true;
  return false;
}

struct Job {
  fs::path source;  // absolute
  std::vector<std::string> flags;
  std::string object;  // file name in the build directory
  bool cached;
};

class Builder {
 public:
  Builder(const fs::path& root, const Target& target, const fs::path& directory)
      : root_(root), target_(target), directory_(directory), headers_(headers_hash(root)) {
    cache_ = cache_directory() / std::string(target.name);
    fs::create_directories(cache_);
    version_ = run_process({kCompiler, "-dumpfullversion"}, directory_, kCompileSeconds).output;
  }
  void add(const fs::path& source, const std::string& object, const char* optimisation, bool cached,
           const std::vector<std::string>& more = {}) {
    Job job{source, flags_of(target_), object, cached};
    for (const char* f : {optimisation, "-std=c++17", "-ffreestanding", "-fbuiltin", "-fno-exceptions", "-fno-rtti",
                          "-fno-threadsafe-statics", "-ffunction-sections", "-fdata-sections"})
      job.flags.emplace_back(f);
    job.flags.insert(job.flags.end(), more.begin(), more.end());
    jobs_.push_back(std::move(job));
  }
  void compile_all();
  fs::path link(const std::string& name);

 private:
  void compile(const Job&) const;
  fs::path root_;
  const Target& target_;
  fs::path directory_, cache_;
  std::string headers_, version_;
  std::vector<Job> jobs_;
};

void Builder::compile(const Job& job) const {
  Hash hash;
  hash.add(version_), hash.add(headers_), hash.add(read_text(job.source));
  for (const std::string& f : job.flags) hash.add(f);
  const fs::path kept = cache_ / (job.object + "-" + hash.text() + ".o"), object = directory_ / (job.object + ".o");
  std::error_code error;
  if (job.cached && fs::copy_file(kept, object, fs::copy_options::overwrite_existing, error)) return;
  std::vector<std::string> argv = {kCompiler};
  argv.insert(argv.end(), job.flags.begin(), job.flags.end());
  argv.insert(argv.end(), {"-I" + root_.string(), "-I" + directory_.string(), "-c", job.source, "-o", object});
  const ProcessResult r = run_process(argv, directory_, kCompileSeconds);
  if (!r.ok()) throw Error(Code::toolchain, fmt::format("{} cannot compile {}:\n{}", kCompiler, job.source.string(), r.output));
  if (job.cached) write_text(kept, read_text(object));
}

void Builder::compile_all() {
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> failures(jobs_.size());
  const auto work = [&] {
    for (size_t i; (i = next++) < jobs_.size();) {
      try {
        compile(jobs_[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < kJobs; i++) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  for (const std::exception_ptr& f : failures)
    if (f) std::rethrow_exception(f);
}

// Run in the build directory with plain file names: the linker script tells start-up and harness from the rest by their names.
fs::path Builder::link(const std::string& name) {
  std::vector<std::string> argv = {kCompiler};
  for (const std::string& f : flags_of(target_)) argv.push_back(f);
  for (const Job& job : jobs_) argv.push_back(job.object + ".o");
  argv.insert(argv.end(), {"-nostartfiles", "-specs=nano.specs", "-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments",
                           "-T" + (root_ / "test/board" / target_.linker_script).string(), "-o", name + ".elf"});
  const ProcessResult r = run_process(argv, directory_, kCompileSeconds);
  if (!r.ok()) {
    const bool full = r.output.find("will not fit in region") != std::string::npos;
    throw Error(Code::toolchain, fmt::format("cannot link {} for {}:\n{}", name, target_.name, r.output),
                full ? "the emulated board is too small for this model" : "");
  }
  return directory_ / (name + ".elf");
}

std::string upper(std::string s) {
  for (char& c : s) c = char(toupper(uint8_t(c)));
  return s;
}

}  // namespace

fs::path source_root() {
  const std::string home = environment("CORTEN_HOME");
  if (!home.empty()) {
    if (has_sources(home)) return home;
    throw Error(Code::no_sources, "CORTEN_HOME is " + home + ", where Corten's sources are not",
                "set it to the directory that holds runtime/ and ops/");
  }
#ifdef CORTEN_SOURCE_DIR
  if (has_sources(CORTEN_SOURCE_DIR)) return CORTEN_SOURCE_DIR;
#endif
  std::error_code error;
  Dl_info here = {};  // the command, or the Python package's module
  if (dladdr(reinterpret_cast<const void*>(&source_root), &here) == 0 || !here.dli_fname) here.dli_fname = "";
  for (fs::path p : {fs::read_symlink("/proc/self/exe", error), fs::path(here.dli_fname)})
    for (; p.has_relative_path(); p = p.parent_path()) {
      if (has_sources(p)) return p;
      if (has_sources(p / "share/corten")) return p / "share/corten";
    }
  throw Error(Code::no_sources, "cannot find Corten's sources, which firmware is compiled from",
              "set CORTEN_HOME to the directory that holds runtime/ and ops/");
}

fs::path cache_directory() {
  std::string base = environment("XDG_CACHE_HOME");
  if (!base.starts_with('/')) base.clear();  // as its specification says: relative paths are to be ignored
  if (base.empty() && !environment("HOME").empty()) base = environment("HOME") + "/.cache";
  fs::path cache = base.empty() ? fs::temp_directory_path() / fmt::format("corten-cache-{}", getuid()) : fs::path(base) / "corten";
  std::error_code error;
  fs::create_directories(cache, error);
  if (error)
    throw Error(Code::system, "cannot make " + cache.string() + ": " + error.message(),
                "set XDG_CACHE_HOME to a writable directory");
  return cache;
}

std::vector<fs::path> kernel_sources(const fs::path& root, const std::string& kernel, Tier tier) {
  for (const fs::directory_entry& folder : fs::directory_iterator(root / "ops")) {
    const fs::path rows = folder.path() / "kernels.def";
    if (!fs::exists(rows) || !has_word(read_text(rows), kernel)) continue;
    std::vector<fs::path> sources;
    for (const fs::directory_entry& e : fs::directory_iterator(folder.path())) {
      if (e.path().extension() != ".cc" || !file_of_tier(e.path().stem(), tier)) continue;
      sources.push_back(e.path().lexically_relative(root));  // the linker drops what is not called
    }
    std::sort(sources.begin(), sources.end());
    if (!sources.empty()) return sources;
  }
  throw Error(Code::toolchain,
              fmt::format("no source under {}/ops defines kernel {} for tier {}", root.string(), kernel, to_text(tier)),
              "the image and the sources are of different versions: compile the model again");
}

fs::path build_firmware(const Program& program, const fs::path& directory, bool trace) {
  if (find_program(kCompiler).empty())
    throw Error(Code::no_tool, fmt::format("{} is not installed", kCompiler),
                "apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi");
  const Target& target = target_named(program.target());
  const fs::path root = source_root();
  write_text(directory / "model.h", emit_header(program.image()));
  write_text(directory / "model.cc", emit_source(program.image()));
  Builder builder(root, target, directory);
  builder.add(directory / "model.cc", "model", kRuntimeOptimisation, false);
  // The board's own code must not pull C library functions in, which would count as the model's.
  const std::string no_library = "-fno-tree-loop-distribute-patterns";
  builder.add(root / "test/board/harness.cc", "harness", kRuntimeOptimisation, false,
              {"-DMODEL_INIT=" + program.name() + "_init", "-DMODEL_ARENA=" + upper(program.name()) + "_ARENA",
               trace ? "-DMODEL_TRACE" : "-UMODEL_TRACE", no_library});
  builder.add(root / "test/board/startup.cc", "startup", kRuntimeOptimisation, true, {no_library});
  for (const char* part : {"run", "verify"})
    builder.add(root / "runtime" / (std::string(part) + ".cc"), std::string("runtime_") + part, kRuntimeOptimisation, true);
  std::vector<fs::path> sources;
  for (const KernelName& k : image_kernels(program.image()))
    for (const fs::path& s : kernel_sources(root, k.name, target.tier)) sources.push_back(s);
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  for (const fs::path& s : sources)
    builder.add(root / s, s.parent_path().filename().string() + "_" + s.stem().string(),
                target.tier == Tier::mve ? kMveOptimisation : kKernelOptimisation, true);
  builder.compile_all();
  return builder.link(program.name());
}

uint32_t code_bytes(const Elf& elf) {
  uint32_t bytes = 0;
  for (const ElfSection& s : elf.sections())
    if (s.in_flash() && s.name != ".vectors" && s.name != ".harness" && s.name != ".model") bytes += s.size;
  return bytes;
}

fs::path counting_plugin() {
  const fs::path source = source_root() / "tools/qemu_count.c";
  Hash hash;
  hash.add(read_text(source));
  const fs::path kept = cache_directory() / ("qemu_count-" + hash.text() + ".so");
  if (fs::exists(kept)) return kept;
  std::string compiler;
  for (const char* name : {"cc", "gcc", "clang"})
    if (compiler.empty()) compiler = find_program(name);
  if (compiler.empty()) throw Error(Code::no_tool, "no C compiler for QEMU's counting plugin", "apt-get install gcc");
  TemporaryDirectory build;
  const fs::path made = build.path() / "qemu_count.so";
  const ProcessResult r = run_process({compiler, "-O2", "-shared", "-fPIC", source, "-o", made}, build.path(), kCompileSeconds);
  if (!r.ok()) throw Error(Code::toolchain, "cannot compile " + source.string() + ":\n" + r.output);
  write_text(kept, read_text(made));
  return kept;
}

}  // namespace corten
