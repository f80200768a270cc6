// Start-up of an emulated board: memory, the features the core has, faults that end the run, exit code to the host.
#include <stdint.h>

#include "test/board/semihosting.h"

extern "C" {
extern uint32_t __stack_top, __data_start, __data_end, __data_load, __bss_start, __bss_end;
int main();
typedef void (*InitFn)();
extern InitFn __init_array_start[], __init_array_end[];
void reset_handler();
void fault_handler();
}

static volatile uint32_t& system_register(uint32_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

// The registers that exception entry pushed are the fault's only witness: print where it was.
extern "C" void fault_report(const uint32_t* frame) {
  semihosting_write("FAULT at pc ");
  semihosting_write_hex(frame[6]);
  semihosting_write(" lr ");
  semihosting_write_hex(frame[5]);
  semihosting_write(" cfsr ");
  semihosting_write_hex(system_register(0xE000ED28));
  semihosting_write("\n");
  semihosting_exit(99);
}
extern "C" __attribute__((naked)) void fault_handler() { asm volatile("mov r0, sp\n bl fault_report\n"); }

extern "C" void reset_handler() {
#if defined(__ARM_ARCH_6M__)
  system_register(0xE000ED14) |= 1u << 3;  // CCR.UNALIGN_TRP: the emulated M3 forgives what an M0+ faults on
#endif
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  system_register(0xE000ED88) |=
      0xFu << 20;  // CPACR: coprocessors 10 and 11 hold the FPU and MVE; first, as loops below may use it
  asm volatile("dsb\n isb");
#endif
#if defined(__ARM_FEATURE_MVE)
  system_register(0xE000ED14) |= 3u << 18;  // CCR.LOB and CCR.BP: low-overhead loops
  asm volatile("dsb\n isb");
#endif
  for (uint32_t *from = &__data_load, *to = &__data_start; to < &__data_end;) *to++ = *from++;
  for (uint32_t* to = &__bss_start; to < &__bss_end;) *to++ = 0;
  for (InitFn* f = __init_array_start; f < __init_array_end; f++) (*f)();
  semihosting_exit(main());
}

__attribute__((section(".vectors"), used)) static const void* const g_vectors[16] = {&__stack_top,
                                                                                     reinterpret_cast<const void*>(reset_handler),
                                                                                     reinterpret_cast<const void*>(fault_handler),
                                                                                     reinterpret_cast<const void*>(fault_handler),
                                                                                     reinterpret_cast<const void*>(fault_handler),
                                                                                     reinterpret_cast<const void*>(fault_handler),
                                                                                     reinterpret_cast<const void*>(fault_handler),
                                                                                     nullptr,
                                                                                     nullptr,
                                                                                     nullptr,
                                                                                     nullptr,
                                                                                     reinterpret_cast<const void*>(fault_handler),
                                                                                     reinterpret_cast<const void*>(fault_handler),
                                                                                     nullptr,
                                                                                     reinterpret_cast<const void*>(fault_handler),
                                                                                     reinterpret_cast<const void*>(fault_handler)};
