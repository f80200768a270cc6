// Operations of the DSP extension (Cortex-M4, M7, M33, M55), one instruction each, emulated where the core has none so that dsp.cc
// files run on the host under sanitizers. The only file, with tier.h, that looks at the instruction set; files that hold a
// whole inner loop in assembly (and the portable loop beside it) ask for CORTEN_DSP_ASM, defined here.
// A "pair" is a word of two int16 lanes, low first. Sums wrap at 32 bits.
#pragma once
#include <stdint.h>

namespace corten {

inline uint32_t load4(const void* p) {  // any alignment
  uint32_t v;
  __builtin_memcpy(&v, p, 4);  // -ffreestanding turns a plain memcpy into a call
  return v;
}
inline void store4(void* p, uint32_t v) { __builtin_memcpy(p, &v, 4); }

#if defined(__ARM_FEATURE_DSP)
#define CORTEN_DSP_ASM 1

inline uint32_t sxtb16(uint32_t a) {
  uint32_t r;
  asm("sxtb16 %0, %1" : "=r"(r) : "r"(a));
  return r;
}
inline uint32_t sxtb16_ror8(uint32_t a) {
  uint32_t r;
  asm("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(a));
  return r;
}
inline uint32_t pkhbt(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("pkhbt %0, %1, %2, lsl #16" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
inline uint32_t pkhtb(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("pkhtb %0, %1, %2, asr #16" : "=r"(r) : "r"(b), "r"(a));
  return r;
}
#define CORTEN_DSP_MAC(name)                                         \
  inline int32_t name(uint32_t a, uint32_t b, int32_t c) {           \
    int32_t r;                                                       \
    asm(#name " %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
    return r;                                                        \
  }
CORTEN_DSP_MAC(smlad)
CORTEN_DSP_MAC(smlabb)
CORTEN_DSP_MAC(smlabt)
CORTEN_DSP_MAC(smlatb)
CORTEN_DSP_MAC(smlatt)
#undef CORTEN_DSP_MAC
inline int32_t smmla(int32_t a, int32_t b, int32_t c) {
  int32_t r;
  asm("smmla %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
inline int32_t ssat8_asr1(int32_t a) {
  int32_t r;
  asm("ssat %0, #8, %1, asr #1" : "=r"(r) : "r"(a));
  return r;
}
inline int32_t asr_byte(int32_t a, uint32_t b) {
  int32_t r;
  asm("asr %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
inline int32_t lsl_byte(int32_t a, uint32_t b) {
  int32_t r;
  asm("lsl %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
inline int32_t mla(int32_t a, int32_t b, int32_t c) {
  int32_t r;
  asm("mla %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
inline int32_t ssat8(int32_t a) {
  int32_t r;
  asm("ssat %0, #8, %1" : "=r"(r) : "r"(a));
  return r;
}
inline uint32_t sxtab16(uint32_t c, uint32_t a) {
  uint32_t r;
  asm("sxtab16 %0, %1, %2" : "=r"(r) : "r"(c), "r"(a));
  return r;
}
inline uint32_t sxtab16_ror8(uint32_t c, uint32_t a) {
  uint32_t r;
  asm("sxtab16 %0, %1, %2, ror #8" : "=r"(r) : "r"(c), "r"(a));
  return r;
}
inline uint32_t max4(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("ssub8 %0, %1, %2\n sel %0, %1, %2" : "=&r"(r) : "r"(a), "r"(b) : "cc");
  return r;
}
inline uint32_t min4(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("ssub8 %0, %1, %2\n sel %0, %2, %1" : "=&r"(r) : "r"(a), "r"(b) : "cc");
  return r;
}

#else

constexpr int32_t low16(uint32_t a) { return int16_t(a); }
constexpr int32_t high16(uint32_t a) { return int16_t(a >> 16); }
constexpr int32_t wrapping_add(int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }

// Bytes 0 and 2 (ror8: bytes 1 and 3), widened to a pair.
inline uint32_t sxtb16(uint32_t a) { return uint16_t(int8_t(a)) | uint32_t(uint16_t(int8_t(a >> 16))) << 16; }
inline uint32_t sxtb16_ror8(uint32_t a) { return sxtb16(a >> 8); }
// The low lanes of a and b as a pair; the high lanes of a and b as a pair.
inline uint32_t pkhbt(uint32_t a, uint32_t b) { return (a & 0xffffu) | b << 16; }
inline uint32_t pkhtb(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }
// c + sum of both lanes' products; c + product of one lane of a (bottom or top) and one of b.
inline int32_t smlad(uint32_t a, uint32_t b, int32_t c) {
  return wrapping_add(wrapping_add(c, low16(a) * low16(b)), high16(a) * high16(b));
}
inline int32_t smlabb(uint32_t a, uint32_t b, int32_t c) { return wrapping_add(c, low16(a) * low16(b)); }
inline int32_t smlabt(uint32_t a, uint32_t b, int32_t c) { return wrapping_add(c, low16(a) * high16(b)); }
inline int32_t smlatb(uint32_t a, uint32_t b, int32_t c) { return wrapping_add(c, high16(a) * low16(b)); }
inline int32_t smlatt(uint32_t a, uint32_t b, int32_t c) { return wrapping_add(c, high16(a) * high16(b)); }
// c + floor(a * b / 2^32)
inline int32_t smmla(int32_t a, int32_t b, int32_t c) { return wrapping_add(c, int32_t(int64_t(a) * b >> 32)); }
// floor(a / 2), saturated to int8
inline int32_t ssat8_asr1(int32_t a) {
  a >>= 1;
  return a < -128 ? -128 : a > 127 ? 127 : a;
}
// Shifts by the low byte of b, the rest of b being ignored, as the core does.
inline int32_t asr_byte(int32_t a, uint32_t b) { return a >> ((b & 255) > 31 ? 31 : b & 255); }
inline int32_t lsl_byte(int32_t a, uint32_t b) { return (b & 255) > 31 ? 0 : int32_t(uint32_t(a) << (b & 255)); }
// c + a * b; written out, as the compiler would sum in another order.
inline int32_t mla(int32_t a, int32_t b, int32_t c) { return int32_t(uint32_t(c) + uint32_t(a) * uint32_t(b)); }
inline int32_t ssat8(int32_t a) { return a < -128 ? -128 : a > 127 ? 127 : a; }
// The pair c plus bytes 0 and 2 (ror8: bytes 1 and 3) of a, lane by lane.
inline uint32_t sxtab16(uint32_t c, uint32_t a) {
  const uint32_t b = sxtb16(a);
  return ((c + b) & 0xffffu) | ((c & 0xffff0000u) + (b & 0xffff0000u));
}
inline uint32_t sxtab16_ror8(uint32_t c, uint32_t a) { return sxtab16(c, a >> 8); }
// The larger and the smaller of four int8 each.
inline uint32_t max4(uint32_t a, uint32_t b) {
  uint32_t r = 0;
  for (int32_t i = 0; i < 32; i += 8) r |= uint32_t(uint8_t(int8_t(a >> i) > int8_t(b >> i) ? a >> i : b >> i)) << i;
  return r;
}
inline uint32_t min4(uint32_t a, uint32_t b) { return ~max4(~a, ~b); }

#endif

}  // namespace corten
