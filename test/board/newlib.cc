// What newlib's printf needs, for tests only: benches and models on the board use no C library of their own.
#include <stddef.h>

#include "test/board/semihosting.h"

extern "C" {
void* _sbrk(ptrdiff_t bytes) {
  extern char __heap_start;
  static char* top = &__heap_start;
  char* old = top;
  top += bytes;
  return old;
}
int _write(int, const char* data, int bytes) {
  char text[65];
  for (int done = 0; done < bytes;) {
    int n = 0;
    while (n < 64 && done < bytes) text[n++] = data[done++];
    text[n] = 0;
    semihosting_write(text);
  }
  return bytes;
}
int _read(int, char*, int) { return -1; }
int _close(int) { return -1; }
int _lseek(int, int, int) { return 0; }
int _fstat(int, void*) { return 0; }
int _isatty(int) { return 1; }
int _kill(int, int) { return -1; }
int _getpid() { return 1; }
void _exit(int code) { semihosting_exit(code); }
}
