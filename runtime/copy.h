// Copying bytes. A C library made for size copies them one by one.
#pragma once
#include <stdint.h>

#include "runtime/tier.h"

namespace corten {

// n bytes, not overlapping, of any alignment.
__attribute__((noinline)) inline void copy_bytes(void* to_bytes, const void* from_bytes, uint32_t n) {
  uint8_t* to = static_cast<uint8_t*>(to_bytes);
  const uint8_t* from = static_cast<const uint8_t*>(from_bytes);
#if defined(CORTEN_MVE)
  asm volatile("wlstp.8 lr, %[n], 2f\n1:\n vldrb.8 q0, [%[from]], #16\n vstrb.8 q0, [%[to]], #16\n letp lr, 1b\n2:\n"
               : [to] "+l"(to), [from] "+l"(from)
               : [n] "r"(n)
               : "q0", "lr", "cc", "memory");
#else
  constexpr bool kUnaligned = kLongMultiply;  // the same cores take words at any address
  typedef uint32_t Word __attribute__((may_alias, aligned(kLongMultiply ? 1 : 4)));
  if (kUnaligned || ((uintptr_t(to) ^ uintptr_t(from)) & 3) == 0) {
    for (; !kUnaligned && n > 0 && (uintptr_t(to) & 3) != 0; n--) *to++ = *from++;
    for (; n >= 16; n -= 16, to += 16, from += 16) {
      const Word* f = reinterpret_cast<const Word*>(from);
      Word* t = reinterpret_cast<Word*>(to);
      const uint32_t a = f[0], b = f[1], c = f[2], d = f[3];
      t[0] = a, t[1] = b, t[2] = c, t[3] = d;
      asm volatile("" ::: "memory");  // or the compiler makes this a call of memcpy again
    }
    for (; n >= 4; n -= 4, to += 4, from += 4) {
      *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
      asm volatile("" ::: "memory");
    }
  }
  for (; n > 0; n--) {
    *to++ = *from++;
    asm volatile("" ::: "memory");
  }
#endif
}

}  // namespace corten
