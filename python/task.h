// Long work of the compiler on a thread of its own: Python's other threads run meanwhile, and Ctrl-C is answered at once.
#pragma once
#include <nanobind/nanobind.h>
#include <stdint.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace corten::python {

struct Cancelled {};  // thrown on the thread of a task that nobody waits for any more

class Task {
 public:
  // Called by the work as often as it can; throws Cancelled.
  void check() const {
    if (cancelled_) throw Cancelled();
  }
  void progress(int64_t done, int64_t all) {
    done_ = done, all_ = all;
    check();
  }
  void cancel() { cancelled_ = true; }
  std::pair<int64_t, int64_t> state() const { return {done_, all_}; }

 private:
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> done_{0}, all_{0};
};

// Threads that were cancelled but have not come to a check yet. They touch nothing of Python's; the interpreter waits for them
// when it ends.
void abandon(std::thread);
void join_abandoned();

inline constexpr std::chrono::milliseconds kPoll{5}, kGrace{15};

// Runs work(task) and returns its result. To be called with the GIL. `work` must own all that it uses: where a signal's handler or
// `progress` (None, or called with done and all) raises, it may run on for a while after this has thrown.
template <class R>
R interruptible(std::function<R(Task&)> work, nanobind::object progress = nanobind::none()) {
  namespace nb = nanobind;
  struct State {
    Task task;
    std::mutex lock;
    std::condition_variable changed;
    bool ended = false;
    std::optional<R> result;
    std::exception_ptr error;
    bool wait(std::chrono::milliseconds time) {
      std::unique_lock<std::mutex> hold(lock);
      return changed.wait_for(hold, time, [this] { return ended; });
    }
  };
  auto state = std::make_shared<State>();
  std::thread thread([state, work = std::move(work)] {
    std::optional<R> result;
    std::exception_ptr error;
    try {
      result = work(state->task);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard<std::mutex> hold(state->lock);
    state->result = std::move(result), state->error = error, state->ended = true;
    state->changed.notify_all();
  });
  bool ended = false;
  std::pair<int64_t, int64_t> told{0, 0};
  try {
    while (!ended) {
      {
        const nb::gil_scoped_release release;
        ended = state->wait(kPoll);
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none() && state->task.state() != told && state->task.state().second > 0) {
        told = state->task.state();
        progress(told.first, told.second);
      }
    }
  } catch (...) {
    state->task.cancel();
    {
      const nb::gil_scoped_release release;
      ended = state->wait(kGrace);
    }
    ended ? thread.join() : abandon(std::move(thread));
    throw;
  }
  thread.join();
  if (state->error) std::rethrow_exception(state->error);
  return std::move(*state->result);
}

}  // namespace corten::python
