#include "python/task.h"

namespace corten::python {

namespace {

std::mutex lock;
std::vector<std::thread> threads;

}  // namespace

void abandon(std::thread thread) {
  const std::lock_guard<std::mutex> hold(lock);
  threads.push_back(std::move(thread));
}

void join_abandoned() {
  const nanobind::gil_scoped_release release;
  const std::lock_guard<std::mutex> hold(lock);
  for (std::thread& t : threads) t.join();
  threads.clear();
}

}  // namespace corten::python
