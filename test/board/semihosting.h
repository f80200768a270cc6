// Arm semihosting: the emulated board's console, files and exit code. Calls are those of Arm's semihosting specification.
#pragma once
#include <stddef.h>
#include <stdint.h>

inline intptr_t semihosting_call(int32_t operation, const void* argument) {
  register intptr_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

inline void semihosting_write(const char* text) { semihosting_call(0x04, text); }

inline void semihosting_write_hex(uint32_t value) {
  char text[11] = "0x00000000";
  for (int i = 9; i > 1; i--, value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  semihosting_write(text);
}

[[noreturn]] inline void semihosting_exit(int32_t code) {
  const uint32_t block[2] = {0x20026, uint32_t(code)};  // ADP_Stopped_ApplicationExit
  semihosting_call(0x20, block);
  for (;;) {
  }
}

// A file on the host, binary. mode: 1 "rb", 5 "wb". Returns a handle, or -1.
inline intptr_t semihosting_open(const char* path, uint32_t mode) {
  uint32_t length = 0;
  while (path[length]) length++;
  const uintptr_t block[3] = {reinterpret_cast<uintptr_t>(path), mode, length};
  return semihosting_call(0x01, block);
}
inline void semihosting_close(intptr_t handle) { semihosting_call(0x02, &handle); }
inline intptr_t semihosting_length(intptr_t handle) { return semihosting_call(0x0c, &handle); }
// Both return the bytes that were NOT transferred: 0 is success.
inline size_t semihosting_read(intptr_t handle, void* data, size_t bytes) {
  const uintptr_t block[3] = {uintptr_t(handle), reinterpret_cast<uintptr_t>(data), bytes};
  return size_t(semihosting_call(0x06, block));
}
inline size_t semihosting_store(intptr_t handle, const void* data, size_t bytes) {
  const uintptr_t block[3] = {uintptr_t(handle), reinterpret_cast<uintptr_t>(data), bytes};
  return size_t(semihosting_call(0x05, block));
}
