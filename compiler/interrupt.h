// Ctrl-C and its kin: children end, what was not finished goes, and the process exits with 128 and the signal's number.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <mutex>

namespace corten {

// For a command, before it has other threads: one of its own waits for SIGINT, SIGTERM and SIGHUP. Those that were ignored stay so.
void end_cleanly_on_signals();

// As they were before, in the thread that calls it: for a program that takes this one's place.
void restore_signals();

// A file or folder that a signal removes.
class Unfinished {
 public:
  explicit Unfinished(std::filesystem::path);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  std::filesystem::path path_;
};

// While it is held, no signal ends the process: for what must happen whole.
std::unique_lock<std::recursive_mutex> uninterrupted();

// Leaders of process groups, which a signal ends. To be called while `uninterrupted` is held.
void add_child(pid_t);
void remove_child(pid_t);

}  // namespace corten
