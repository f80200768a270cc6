// A whole application around a model: start it, feed it, read it, time it, and check that the core gives the host's bytes.
// Printing is the only thing here that depends on the board: semihosting_write is the emulator's, yours may be a UART.
#include <stdint.h>
#include <string.h>

#include "golden.h"  // from golden.py: inputs, and the outputs that the host gave for them
#include "model.h"   // from corten compile
#include "test/board/semihosting.h"

DIGITS_CNN_ARENA(arena);
static corten::Model model;

static void print_number(uint32_t value) {
  char text[11];
  char* p = text + sizeof text - 1;
  *p = 0;
  do *--p = char('0' + value % 10);
  while (value /= 10);
  semihosting_write(p);
}

// Every Cortex-M has SysTick: 24 bits that count down at the core's clock. For more than 16.7 million cycles, or where an operating
// system owns SysTick, take DWT->CYCCNT (not on M0 and M0+, nor in QEMU).
static volatile uint32_t* const kSysTick = reinterpret_cast<volatile uint32_t*>(0xE000E010);  // control, reload, current

static void start_clock() {
  kSysTick[1] = 0xFFFFFF;
  kSysTick[2] = 0;
  kSysTick[0] = 5;  // on, the core's clock, no interrupt
}

static uint32_t cycles_since(uint32_t before) { return (before - kSysTick[2]) & 0xFFFFFF; }

static int fail(const char* what, corten_status status) {
  semihosting_write(what);
  semihosting_write(corten_status_text(status));
  semihosting_write("\n");
  return 1;
}

static uint32_t largest(const int8_t* scores, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; i++)
    if (scores[i] > scores[best]) best = i;
  return best;
}

int main() {
  corten_status status = digits_cnn::init(model, arena);
  if (status != CORTEN_OK) return fail("init: ", status);
  start_clock();
  for (uint32_t i = 0; i < kSamples; i++) {
    memcpy(model.input(0).data, kInput[i], digits_cnn::input0::kBytes);
    const uint32_t before = kSysTick[2];
    status = model.run();
    const uint32_t cycles = cycles_since(before);
    if (status != CORTEN_OK) return fail("run: ", status);
    const int8_t* scores = static_cast<const int8_t*>(model.output(0).data);
    const bool same = memcmp(scores, kExpected[i], digits_cnn::output0::kBytes) == 0;
    semihosting_write("class ");
    print_number(largest(scores, digits_cnn::output0::kF));
    semihosting_write(", ");
    print_number(cycles);
    semihosting_write(same ? " ticks, the host's bytes\n" : " ticks, NOT the host's bytes\n");
    if (!same) return 1;
  }
  return 0;
}
