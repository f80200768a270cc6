#include "compiler/calibrate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "compiler/evaluate.h"

namespace corten {

namespace {

constexpr int kBins = 2048;  // over [-bound, bound)

// Widens the histogram to twice its bound: bins pair up, so the counts stay exact whatever the order of samples.
void widen(Range& r) {
  std::vector<double> wide(kBins, 0.0);
  for (int i = 0; i < kBins; i++) wide[size_t(kBins / 4 + i / 2)] += r.histogram[size_t(i)];
  r.histogram = std::move(wide);
  r.bound *= 2;
}

void observe(Range& r, const float* x, int64_t n) {
  if (n == 0) return;
  float lo = x[0], hi = x[0];
  for (int64_t i = 0; i < n; i++) {
    lo = std::min(lo, x[i]), hi = std::max(hi, x[i]);
    r.finite = r.finite && std::isfinite(x[i]);
  }
  if (!r.finite) return;  // the compilation will not go on
  r.lo = r.seen ? std::min(r.lo, lo) : lo, r.hi = r.seen ? std::max(r.hi, hi) : hi;
  r.seen = true;
  if (r.histogram.empty()) {
    r.histogram.assign(kBins, 0.0);
    r.bound = 0x1p-20f;  // powers of two only, so that merging two threads' histograms is exact
  }
  while (r.bound <= std::max(-lo, hi) && r.bound < 0x1p100f) widen(r);
  const float to_bin = kBins / 2 / r.bound;
  for (int64_t i = 0; i < n; i++) {
    const int bin = int((x[i] + r.bound) * to_bin);
    r.histogram[size_t(std::clamp(bin, 0, kBins - 1))] += 1;
  }
}

int64_t channels_of(const Shape& shape) { return shape.size() < 2 ? 0 : shape[1]; }

// One sample's sum over each channel.
void sum_channels(const float* x, const Shape& shape, double* sums) {
  const int64_t channels = channels_of(shape), inner = channels ? elements(shape) / (shape[0] * channels) : 0;
  for (int64_t n = 0; n < shape[0] && channels; n++)
    for (int64_t c = 0; c < channels; c++, x += inner)
      for (int64_t i = 0; i < inner; i++) sums[c] += x[i];
}

void merge(Range& into, Range from) {
  into.finite = into.finite && from.finite;
  if (!from.seen) return;
  if (!into.seen) {
    into = std::move(from);
    return;
  }
  into.lo = std::min(into.lo, from.lo), into.hi = std::max(into.hi, from.hi);
  while (into.bound < from.bound) widen(into);
  while (from.bound < into.bound) widen(from);
  for (size_t i = 0; i < into.histogram.size(); i++) into.histogram[i] += from.histogram[i];
}

// Expected squared error when [lo, hi] is cut into 255 steps: rounding inside, distance outside.
double error_of(const Range& r, double lo, double hi) {
  const double step = (hi - lo) / 255, inside = step * step / 12, width = 2.0 * r.bound / kBins;
  double sum = 0;
  for (int i = 0; i < kBins; i++) {
    const double count = r.histogram[size_t(i)];
    if (count == 0) continue;
    const double x = -double(r.bound) + (i + 0.5) * width;
    const double out = x < lo ? lo - x : x > hi ? x - hi : 0;
    sum += count * (out == 0 ? inside : out * out + inside);
  }
  return sum;
}

}  // namespace

void best_range(const Range& r, double& lo, double& hi) {
  const double full_lo = std::min(r.lo, 0.0f), full_hi = std::max(r.hi, 0.0f);
  lo = full_lo, hi = full_hi;
  if (!(hi > lo) || r.histogram.empty()) return;
  double best = error_of(r, lo, hi);
  // One side at a time, then again: the error has one valley along each.
  for (int round = 0; round < 2; round++)
    for (const bool upper : {true, false}) {
      const double keep = upper ? lo : hi, full = upper ? full_hi : full_lo;
      for (int step = 1; step <= 60; step++) {
        const double moved = full * (1 - step / 80.0);
        const double e = upper ? error_of(r, keep, moved) : error_of(r, moved, keep);
        if (e < best) best = e, (upper ? hi : lo) = moved;
      }
    }
}

void parallel_for(int64_t count, const std::function<void(int64_t, int64_t)>& fn) {
  const int64_t threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, std::max<int64_t>(count, 1));
  std::exception_ptr failure;
  std::mutex lock;
  std::vector<std::thread> pool;
  for (int64_t t = 0; t < threads; t++)
    pool.emplace_back([&, t] {
      try {
        fn(count * t / threads, count * (t + 1) / threads);
      } catch (...) {
        const std::lock_guard<std::mutex> hold(lock);
        if (!failure) failure = std::current_exception();
      }
    });
  for (std::thread& t : pool) t.join();
  if (failure) std::rethrow_exception(failure);
}

Calibration calibrate(const Graph& g, const std::vector<std::vector<float>>& inputs, int64_t count,
                      const std::function<void(int64_t)>& progress) {
  Calibration total;
  total.ranges.resize(g.values.size());
  total.samples = count;
  std::vector<char> given(g.values.size(), 0);  // a value with a scale needs no range
  for (size_t v = 0; v < g.values.size(); v++) given[v] = g.values[v].quant.has_value();
  std::vector<std::vector<double>> sums(g.values.size());  // by value: each sample's, added up in their order whatever the threads
  for (const Node& n : g.nodes)
    for (ValueId v : n.out) sums[size_t(v)].resize(size_t(count * channels_of(g[v].shape)));
  for (ValueId v : g.inputs) sums[size_t(v)].resize(size_t(count * channels_of(g[v].shape)));
  std::mutex lock;
  std::atomic<int64_t> done = 0;
  parallel_for(count, [&](int64_t first, int64_t last) {
    Evaluator evaluator(g);
    std::vector<Range> ranges(g.values.size());
    for (int64_t s = first; s < last; s++) {
      std::vector<const float*> in;
      for (size_t i = 0; i < g.inputs.size(); i++) in.push_back(inputs[i].data() + s * elements(g[g.inputs[i]].shape));
      evaluator.run(in, [&](ValueId v, const float* x, int64_t n) {
        if (given[size_t(v)]) return;
        observe(ranges[size_t(v)], x, n);
        if (channels_of(g[v].shape)) sum_channels(x, g[v].shape, sums[size_t(v)].data() + s * channels_of(g[v].shape));
      });
      const int64_t finished = ++done;
      if (progress) {
        const std::lock_guard<std::mutex> hold(lock);
        progress(finished);
      }
    }
    const std::lock_guard<std::mutex> hold(lock);
    for (size_t v = 0; v < ranges.size(); v++) merge(total.ranges[v], std::move(ranges[v]));
  });
  for (size_t v = 0; v < sums.size(); v++) {
    const Shape& shape = g.values[v].shape;
    const int64_t channels = channels_of(shape);
    if (sums[v].empty() || given[v]) continue;
    std::vector<double> all(size_t(channels), 0.0);
    for (size_t i = 0; i < sums[v].size(); i++) all[i % size_t(channels)] += sums[v][i];
    for (double sum : all) total.ranges[v].channel_mean.push_back(float(sum * double(channels) / double(count * elements(shape))));
  }
  return total;
}

}  // namespace corten
