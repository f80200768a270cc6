#include "compiler/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "compiler/files.h"
#include "compiler/interrupt.h"
#include "ir/diag.h"

namespace corten {
namespace fs = std::filesystem;

// In the child: only async-signal-safe calls.
[[noreturn]] static void become(char* const* argv, const char* directory, int output) {
  setpgid(0, 0);
  restore_signals();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // an interrupted corten leaves no emulator behind
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, 0);
  dup2(output, 1), dup2(output, 2);
  if (chdir(directory) == 0) execvp(argv[0], argv);
  _exit(127);
}

ProcessResult run_process(const std::vector<std::string>& argv, const fs::path& directory, int timeout_seconds) {
  ProcessResult result;
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  const std::string where = directory.string();
  int ends[2];
  auto hold = uninterrupted();
  if (pipe2(ends, O_CLOEXEC)) throw Error(Code::system, std::string("pipe: ") + strerror(errno));
  const pid_t child = fork();
  if (child < 0) throw Error(Code::system, std::string("fork: ") + strerror(errno));
  if (child == 0) become(args.data(), where.c_str(), ends[1]);
  setpgid(child, child);  // whoever comes first
  add_child(child);
  hold.unlock();
  close(ends[1]);

  using Clock = std::chrono::steady_clock;
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(timeout_seconds);
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now()).count();
    if (left <= 0) {
      result.timed_out = true;
      kill(-child, SIGKILL), kill(child, SIGKILL);
      break;
    }
    pollfd p = {ends[0], POLLIN, 0};
    if (poll(&p, 1, int(left)) <= 0) continue;
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.output.append(buffer, size_t(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  hold.lock();
  remove_child(child);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

std::string find_program(const std::string& name) {
  const char* path = getenv("PATH");
  std::istringstream directories(path ? path : "/usr/bin:/bin");
  for (std::string d; std::getline(directories, d, ':');) {
    const std::string candidate = (d.empty() ? "." : d) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
  }
  return {};
}

TemporaryDirectory::TemporaryDirectory() {
  const char* base = getenv("TMPDIR");
  std::string pattern = std::string(base && *base ? base : "/tmp") + "/corten-XXXXXX";
  const auto hold = uninterrupted();
  if (!mkdtemp(pattern.data()))
    throw Error(Code::system, "cannot make a directory " + pattern + ": " + strerror(errno), "set TMPDIR to a writable place");
  path_ = pattern;
  unfinished_.emplace(path_);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(Code::no_file, "cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, const std::string& content) {
  check_replaceable(path.string());
  const fs::path part = path.string() + ".part" + std::to_string(getpid()) + "-" + std::to_string(size_t(&content) >> 4 & 0xffffff);
  const Unfinished unfinished(part);
  std::ofstream file(part, std::ios::binary);
  file.write(content.data(), std::streamsize(content.size()));
  file.close();
  std::error_code error;
  if (file) fs::rename(part, path, error);
  if (file && !error) return;
  fs::remove(part, error);
  throw Error(Code::cannot_write, "cannot write " + path.string(), "is there space, and may you write there?");
}

}  // namespace corten
