// What MVE kernels share. Only for files that are compiled for MVE alone (mve*.cc, *_mve.cc).
#pragma once
#include <arm_mve.h>
#include <stdint.h>

namespace corten {

// Both in assembly for the tail-predicated loop, which GCC does not make.
inline void mve_copy(int8_t* to, const int8_t* from, int32_t n) {
  asm volatile("wlstp.8 lr, %[n], 2f\n1:\n vldrb.8 q0, [%[from]], #16\n vstrb.8 q0, [%[to]], #16\n letp lr, 1b\n2:\n"
               : [to] "+r"(to), [from] "+r"(from)
               : [n] "r"(n)
               : "q0", "lr", "memory");
}

inline void mve_fill(int8_t* to, int32_t value, int32_t n) {
  asm volatile("vdup.8 q0, %[value]\n wlstp.8 lr, %[n], 2f\n1:\n vstrb.8 q0, [%[to]], #16\n letp lr, 1b\n2:\n"
               : [to] "+r"(to)
               : [value] "r"(value), [n] "r"(n)
               : "q0", "lr", "memory");
}

// The fused clamp where it is narrower than int8: kernels saturate to int8 first, which changes nothing, and then call this.
inline void mve_clamp(int8_t* x, int32_t n, int32_t lo, int32_t hi) {
  if (lo <= -128 && hi >= 127) return;
  const int8x16_t low = vdupq_n_s8(int8_t(lo)), high = vdupq_n_s8(int8_t(hi));
  for (; n > 0; n -= 16, x += 16) {
    const mve_pred16_t some = vctp8q(uint32_t(n));
    vst1q_p_s8(x, vminq_s8(vmaxq_s8(vld1q_z_s8(x, some), low), high), some);
  }
}

}  // namespace corten
