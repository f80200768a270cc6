// The firmware that `corten run --on qemu` and `corten bench` build around a model.
//
// Reads corten.in in the emulator's working directory: samples one after the other, each all inputs in the device's order; writes
// their outputs to corten.out. Without corten.in it runs one made-up sample, so that a kept ELF runs by itself. The compiler
// defines MODEL_INIT and MODEL_ARENA, what model.h calls kws_init and KWS_ARENA, and MODEL_TRACE where all values are to be
// printed.
#include <stdint.h>

#include "model.h"
#include "test/board/semihosting.h"

MODEL_ARENA(g_arena);
static corten_model g_model;

extern "C" {
__attribute__((noipa, used)) void corten_bench_begin() { asm volatile("" ::: "memory"); }
__attribute__((noipa, used)) void corten_bench_end() { asm volatile("" ::: "memory"); }
}

#ifdef MODEL_TRACE  // only where asked for: it is no part of what is measured
#include "runtime/trace.h"
static void put(const char* text, size_t) { semihosting_write(text); }
static corten::Trace g_trace = {put};
static void start_tracing() { corten::start_trace(g_model, g_trace); }
#else
static void start_tracing() {}
#endif

static void print_number(const char* before, uint32_t value) {
  char text[11];
  char* p = text + 10;
  *p = 0;
  do *--p = char('0' + value % 10);
  while (value /= 10);
  semihosting_write(before);
  semihosting_write(p);
}

[[noreturn]] static void stop(const char* what, corten_status status) {
  semihosting_write(what);
  semihosting_write(corten_status_text(status));
  print_number(" arena_needed ", g_model.arena_needed);
  print_number(" arena_given ", g_model.arena_given);
  semihosting_write("\n");
  semihosting_exit(3);
}

// Bytes of stack that `call` uses, seen by a pattern painted below.
constexpr uint32_t kProbe = 16384, kPaint = 0xC0DEC0DE;
__attribute__((noinline)) static uint32_t stack_of(corten_status (*call)(), corten_status* status) {
  uint32_t top;
  asm volatile("mov %0, sp" : "=r"(top));
  volatile uint32_t* low = reinterpret_cast<volatile uint32_t*>(top - kProbe);
  for (uint32_t i = 0; i < kProbe / 4; i++) low[i] = kPaint;
  *status = call();
  uint32_t untouched = 0;
  while (untouched < kProbe / 4 && low[untouched] == kPaint) untouched++;
  return kProbe - untouched * 4;
}

static corten_status initialise() { return MODEL_INIT(&g_model, g_arena, sizeof g_arena); }

static corten_status infer() {
  corten_bench_begin();
  const corten_status status = corten_run(&g_model);
  corten_bench_end();
  return status;
}

// Some values: bytes, or floats in [0.5, 1).
static void make_up(const corten_tensor& t) {
  static uint32_t seed;  // zero, so that the harness has no initialised data
  for (uint32_t i = 0; i < t.bytes; i++) {
    seed = seed * 1664525u + 1013904223u;
    if (t.type == CORTEN_INT8)
      static_cast<uint8_t*>(t.data)[i] = uint8_t(seed >> 24);
    else if (i % 4 == 0)
      static_cast<uint32_t*>(t.data)[i / 4] = 0x3f000000u | seed >> 9;
  }
}

static void read_inputs(intptr_t file) {
  for (uint32_t i = 0; i < corten_inputs(&g_model); i++) {
    corten_tensor t;
    corten_input(&g_model, i, &t);
    if (file < 0)
      make_up(t);
    else if (semihosting_read(file, t.data, t.bytes))
      stop("cannot read corten.in: ", CORTEN_BAD_SIZE);
  }
}

static void write_outputs(intptr_t file) {
  for (uint32_t i = 0; i < corten_outputs(&g_model); i++) {
    corten_tensor t;
    corten_output(&g_model, i, &t);
    if (semihosting_store(file, t.data, t.bytes)) stop("cannot write corten.out: ", CORTEN_BAD_SIZE);
  }
}

static uint32_t input_bytes() {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < corten_inputs(&g_model); i++) {
    corten_tensor t;
    corten_input(&g_model, i, &t);
    bytes += t.bytes;
  }
  return bytes;
}

int main() {
  corten_status status;
  const uint32_t init_stack = stack_of(initialise, &status);
  if (status) stop("init: ", status);
  start_tracing();
  const intptr_t in = semihosting_open("corten.in", 1);
  const intptr_t out = in < 0 ? -1 : semihosting_open("corten.out", 5);
  const uint32_t bytes = input_bytes();
  const uint32_t samples = in < 0 || !bytes ? 1 : uint32_t(semihosting_length(in)) / bytes;
  uint32_t run_stack = 0;
  for (uint32_t n = 0; n < samples; n++) {
    read_inputs(in);
    const uint32_t used = stack_of(infer, &status);
    if (status) stop("run: ", status);
    run_stack = used > run_stack ? used : run_stack;
    if (out >= 0) write_outputs(out);
  }
  print_number("corten samples ", samples);
  print_number(" stack_init ", init_stack);
  print_number(" stack_run ", run_stack);
  print_number(" state ", sizeof g_model);
  semihosting_write("\n");
  if (out >= 0) semihosting_close(out);
  return 0;
}
