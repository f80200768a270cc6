// The harness of every ops/*/test.cc: one source, run on the host under sanitizers and on each emulated core.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/kernel.h"
#include "runtime/tier.h"

namespace corten::test {

inline int g_checks, g_failures;
inline uint32_t g_seed = 1;
inline uint32_t random32() { return g_seed = g_seed * 1664525u + 1013904223u; }
inline int32_t random_in(int32_t lo, int32_t hi) { return lo + int32_t(uint64_t(random32()) * uint32_t(hi - lo + 1) >> 32); }
inline void fill(int8_t* p, int32_t n, int32_t lo = -128, int32_t hi = 127) {
  while (n-- > 0) *p++ = int8_t(random_in(lo, hi));
}

// Guarded bytes: a kernel that writes outside its output or scratch shows up as a broken guard.
template <int32_t N>
struct Buffer {
  alignas(16) uint8_t bytes[N + 32];
  int32_t used = 0;
  void* data() { return bytes + 16; }
  int8_t* s8() { return reinterpret_cast<int8_t*>(bytes + 16); }
  void arm(int32_t n) {
    used = n;
    memset(bytes, 0xA5, sizeof bytes);
  }
  bool intact() const {
    for (int32_t i = 0; i < 16; i++)
      if (bytes[i] != 0xA5 || bytes[16 + used + i] != 0xA5) return false;
    return true;
  }
};

inline bool expect(bool ok, const char* what, long row, const char* why) {
  g_checks++;
  if (!ok) g_failures++, printf("FAIL %s case %ld: %s\n", what, row, why);
  return ok;
}
inline bool expect_equal(const char* what, long row, const int8_t* want, const int8_t* got, int32_t n) {
  g_checks++;
  for (int32_t i = 0; i < n; i++)
    if (want[i] != got[i]) {
      g_failures++;
      printf("FAIL %s case %ld [%ld of %ld]: want %d, got %d\n", what, row, long(i), long(n), want[i], got[i]);
      return false;
    }
  return true;
}
// A bench (CORTEN_BENCH) is the same program, on the shapes of bench.inc where there is one: bench/run.py counts what runs between
// these two functions, and reads which kernel on which case that was.
#if defined(CORTEN_BENCH)
inline constexpr bool kBench = true;
extern "C" {
__attribute__((noipa, used)) inline void corten_bench_begin() { asm volatile("" ::: "memory"); }
__attribute__((noipa, used)) inline void corten_bench_end() { asm volatile("" ::: "memory"); }
}
inline void call(const char* name, long row, KernelFn run, const KernelArgs* args) {
  printf("bench %ld %s\n", row, name);
  corten_bench_begin();
  run(args);
  corten_bench_end();
}
#else
inline constexpr bool kBench = false;
inline void call(const char*, long, KernelFn run, const KernelArgs* args) { run(args); }
#endif

// A test that compared nothing fails.
inline int report() {
  printf("%d checks, %d failures\n", g_checks, g_failures);
  return g_failures != 0 || g_checks == 0;
}

}  // namespace corten::test
