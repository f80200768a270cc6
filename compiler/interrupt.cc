#include "compiler/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

namespace corten {

namespace {

namespace fs = std::filesystem;

std::recursive_mutex lock;
std::multiset<fs::path> unfinished;
std::set<pid_t> children;

constexpr int kTries = 50, kTriesToEnd = 4;
constexpr std::chrono::milliseconds kPause{10};

// Compilers remove their temporary files when they are asked to end, at once; an emulator may take its time, and need not.
// Their parent, a thread of this process, reaps them.
void end_children() {
  for (pid_t child : children) kill(-child, SIGTERM);
  const auto alive = [](pid_t child) { return kill(-child, 0) == 0; };
  for (int i = 0; i < kTriesToEnd && std::any_of(children.begin(), children.end(), alive); i++) std::this_thread::sleep_for(kPause);
  for (pid_t child : children) kill(-child, SIGKILL);
}

void remove_unfinished() {
  for (const fs::path& path : unfinished) {
    std::error_code error;
    for (int i = 0; i < kTries; i++) {  // a thread may still be writing into it
      fs::remove_all(path, error);
      if (!error) break;
      std::this_thread::sleep_for(kPause);
    }
  }
}

void wait_for(sigset_t signals) {
  int signal = 0;
  if (sigwait(&signals, &signal) != 0) return;
  lock.lock();  // from here on nothing begins or becomes finished
  end_children();
  remove_unfinished();
  constexpr char kClear[] = "\r\033[K";  // of a progress line
  if (isatty(2) && write(2, kClear, sizeof kClear - 1) < 0) _exit(128 + signal);
  _exit(128 + signal);
}

}  // namespace

void end_cleanly_on_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before;
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(wait_for, signals).detach();
}

void restore_signals() {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

Unfinished::Unfinished(fs::path path) : path_(std::move(path)) {
  const std::lock_guard<std::recursive_mutex> hold(lock);
  unfinished.insert(path_);
}

Unfinished::~Unfinished() {
  const std::lock_guard<std::recursive_mutex> hold(lock);
  unfinished.erase(unfinished.find(path_));
}

std::unique_lock<std::recursive_mutex> uninterrupted() { return std::unique_lock<std::recursive_mutex>(lock); }

void add_child(pid_t child) { children.insert(child); }
void remove_child(pid_t child) { children.erase(child); }

}  // namespace corten
