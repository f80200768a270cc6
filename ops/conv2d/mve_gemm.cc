// Assembly, because GCC's intrinsics give neither the order of loads and multiplies that keeps both units busy (one load, one
// vmladava, in turn), nor accumulators in registers: it spills.
#include "ops/conv2d/mve_gemm.h"

namespace corten {
namespace {

// One vector of one channel: load 16 weights into `q`, multiply with the taps in `x`, into accumulator `a`.
#define FIRST(x, q, a) "vldrb.8 " q ", [%[w]], #16\n vmladav.s8 %[" a "], " x ", " q "\n"
#define NEXT(x, q, a) "vldrb.8 " q ", [%[w]], #16\n vmladava.s8 %[" a "], " x ", " q "\n"
// Two channels times 1 to 4 vectors.
#define PAIR_1(a, b) FIRST("q0", "q4", a) FIRST("q0", "q5", b)
#define PAIR_NEXT(x, a, b) NEXT(x, "q4", a) NEXT(x, "q5", b)
// The accumulators of a quad become q6 = (acc + bias) * mult >> shift.
#define SCALE                                   \
  "vmov q6[2], q6[0], %[a0], %[a2]\n"           \
  "vldrw.32 q4, [%[t]], #16\n"                  \
  "vmov q6[3], q6[1], %[a1], %[a3]\n"           \
  "vadd.i32 q6, q6, q4\n"                       \
  "vldrw.32 q5, [%[t]], #16\n"                  \
  "vqdmulh.s32 q6, q6, q5\n"                    \
  "vldrw.32 q4, [%[t]], #16\n"                  \
  "vrshl.s32 q6, q6, q4\n"
// q6 becomes four bytes; in the loop these steps stand between the multiplies of the next quad.
#define ADD_ZERO "vadd.i32 q6, q6, %[zero]\n"
#define TO_16 "vqmovnb.s32 q6, q6\n"
#define TO_8 "vqmovnb.s16 q6, q6\n"
#define STORE "vstrb.32 q6, [%[o]], #4\n"

// All channels of one pixel whose taps are in q0.. : QUAD is the multiplies of a quad, QUAD_AND_STORE those with the steps above.
#define CHANNELS(QUAD, QUAD_AND_STORE)                                                                                    \
  QUAD SCALE "wls lr, %[n], 2f\n1:\n" QUAD_AND_STORE SCALE "le lr, 1b\n2:\n" ADD_ZERO TO_16 TO_8 "vctp.32 %[rest]\n vpst\n" \
             "vstrbt.32 q6, [%[o]]\n"
#define TAPS(load) "vctp.8 %[tail]\n" load
#define LAST(q, offset) "vpst\n vldrbt.8 " q ", [%[x], #" offset "]\n"
#define FULL(q, offset) "vldrb.8 " q ", [%[x], #" offset "]\n"

#define RUN(load, quad, quad_and_store)                                                                                          \
  asm volatile(TAPS(load) CHANNELS(quad, quad_and_store)                                                                         \
               : [a0] "=&Te"(a0), [a1] "=&Te"(a1), [a2] "=&Te"(a2), [a3] "=&Te"(a3), [w] "+r"(w), [t] "+r"(t), [o] "+l"(o)       \
               : [x] "r"(x), [n] "r"(quads - 1), [zero] "r"(l.out_zero), [rest] "r"(rest), [tail] "r"(tail)                      \
               : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "lr", "cc", "memory")

// The pixel's taps stay in registers, the weights stream by.
template <int kVectors>
__attribute__((noinline)) void few_taps(const MveLayer& l, const int8_t* x, int32_t step, int32_t count, int8_t* out) {
  const int32_t quads = (l.out_c + 3) >> 2, rest = l.out_c - 4 * (quads - 1);
  const uint32_t tail = l.taps - 16 * (kVectors - 1);
  for (; count > 0; count--, x += step, out += l.out_c) {
    const int8_t* w = l.weights;
    const int32_t* t = l.tables;
    int8_t* o = out;
    int32_t a0, a1, a2, a3;
    if constexpr (kVectors == 1) {
      RUN(LAST("q0", "0"), PAIR_1("a0", "a2") PAIR_1("a1", "a3"),
          FIRST("q0", "q4", "a0") ADD_ZERO FIRST("q0", "q5", "a2") TO_16 FIRST("q0", "q4", "a1") TO_8 FIRST("q0", "q5", "a3") STORE);
    } else if constexpr (kVectors == 2) {
      RUN(FULL("q0", "0") LAST("q1", "16"),
          PAIR_1("a0", "a2") PAIR_NEXT("q1", "a0", "a2") PAIR_1("a1", "a3") PAIR_NEXT("q1", "a1", "a3"),
          FIRST("q0", "q4", "a0") ADD_ZERO FIRST("q0", "q5", "a2") TO_16 NEXT("q1", "q4", "a0") TO_8 NEXT("q1", "q5", "a2") STORE
          PAIR_1("a1", "a3") PAIR_NEXT("q1", "a1", "a3"));
    } else if constexpr (kVectors == 3) {
      RUN(FULL("q0", "0") FULL("q1", "16") LAST("q2", "32"),
          PAIR_1("a0", "a2") PAIR_NEXT("q1", "a0", "a2") PAIR_NEXT("q2", "a0", "a2")
          PAIR_1("a1", "a3") PAIR_NEXT("q1", "a1", "a3") PAIR_NEXT("q2", "a1", "a3"),
          FIRST("q0", "q4", "a0") ADD_ZERO FIRST("q0", "q5", "a2") TO_16 NEXT("q1", "q4", "a0") TO_8 NEXT("q1", "q5", "a2") STORE
          PAIR_NEXT("q2", "a0", "a2") PAIR_1("a1", "a3") PAIR_NEXT("q1", "a1", "a3") PAIR_NEXT("q2", "a1", "a3"));
    } else {
      RUN(FULL("q0", "0") FULL("q1", "16") FULL("q2", "32") LAST("q3", "48"),
          PAIR_1("a0", "a2") PAIR_NEXT("q1", "a0", "a2") PAIR_NEXT("q2", "a0", "a2") PAIR_NEXT("q3", "a0", "a2")
          PAIR_1("a1", "a3") PAIR_NEXT("q1", "a1", "a3") PAIR_NEXT("q2", "a1", "a3") PAIR_NEXT("q3", "a1", "a3"),
          FIRST("q0", "q4", "a0") ADD_ZERO FIRST("q0", "q5", "a2") TO_16 NEXT("q1", "q4", "a0") TO_8 NEXT("q1", "q5", "a2") STORE
          PAIR_NEXT("q2", "a0", "a2") PAIR_NEXT("q3", "a0", "a2")
          PAIR_1("a1", "a3") PAIR_NEXT("q1", "a1", "a3") PAIR_NEXT("q2", "a1", "a3") PAIR_NEXT("q3", "a1", "a3"));
    }
  }
}

// Two channels times two pixels, all vectors: the load of the next operand always stands between two multiplies. The sums start
// at the biases of the two channels, which BIAS has loaded.
#define BIAS(bias0, bias1) "ldr %[a00], [%[t], #" bias0 "]\n ldr %[a10], [%[t], #" bias1 "]\n"
#define BLOCK                        \
  "vldrb.8 q0, [%[x0]]\n"            \
  "mov %[a01], %[a00]\n"             \
  "vldrb.8 q2, [%[w]], #16\n"        \
  "mov %[a11], %[a10]\n"             \
  "dls lr, %[n]\n"                   \
  "1:\n"                             \
  "vmladava.s8 %[a00], q0, q2\n"     \
  "vldrb.8 q3, [%[w]], #16\n"        \
  "vmladava.s8 %[a10], q0, q3\n"     \
  "vldrb.8 q1, [%[x1]], #16\n"       \
  "vmladava.s8 %[a01], q1, q2\n"     \
  "vldrb.8 q0, [%[x0], #16]!\n"      \
  "vmladava.s8 %[a11], q1, q3\n"     \
  "vldrb.8 q2, [%[w]], #16\n"        \
  "le lr, 1b\n"                      \
  "vmladava.s8 %[a00], q0, q2\n"     \
  "vldrb.8 q3, [%[w]], #16\n"        \
  "vmladava.s8 %[a10], q0, q3\n"     \
  "vldrb.8 q1, [%[x1]]\n"            \
  "vmladava.s8 %[a01], q1, q2\n"     \
  "sub %[x0], %[x0], %[n], lsl #4\n" \
  "vmladava.s8 %[a11], q1, q3\n"     \
  "sub %[x1], %[x1], %[n], lsl #4\n"

// Four channels (two blocks) of two pixels at a time; the last of an odd number of pixels goes with its predecessor once more.
__attribute__((noinline)) void many_taps(const MveLayer& l, const int8_t* x, int32_t step, int32_t count, int8_t* out) {
  for (int32_t i = 0; i < count; i += 2) {
    const int32_t first = i + 2 <= count ? i : count > 1 ? count - 2 : 0;
    const int8_t *x0 = x + first * step, *x1 = count > 1 ? x0 + step : x0, *w = l.weights;
    int8_t *o0 = out + first * l.out_c, *o1 = count > 1 ? o0 + l.out_c : o0;
    const int32_t* t = l.tables;
    int32_t a00, a01, a10, a11, rest = l.out_c;
    asm volatile(
        "vdup.16 q7, %[a00]\n"
        "3:\n" BIAS("0", "8") BLOCK
        "vldrw.32 q6, [%[t], #16]\n"
        "vmov q4[2], q4[0], %[a00], %[a10]\n"
        "vmov q5[2], q5[0], %[a01], %[a11]\n" BIAS("4", "12") BLOCK
        "vldrw.32 q3, [%[t], #32]\n"
        "vmov q4[3], q4[1], %[a00], %[a10]\n"
        "vqdmulh.s32 q4, q4, q6\n"
        "vmov q5[3], q5[1], %[a01], %[a11]\n"
        "adds %[t], #48\n"
        "vqdmulh.s32 q5, q5, q6\n"
        "vrshl.s32 q4, q4, q3\n"
        "vctp.32 %[rest]\n"
        "vrshl.s32 q5, q5, q3\n"
        "vqmovnb.s32 q4, q4\n"
        "vqmovnt.s32 q4, q5\n"
        "vqadd.s16 q4, q4, q7\n"
        "vqmovnb.s16 q4, q4\n"
        "subs %[rest], #4\n"
        "vshr.u32 q5, q4, #16\n"
        "vpstt\n"
        "vstrbt.32 q4, [%[o0]], #4\n"
        "vstrbt.32 q5, [%[o1]], #4\n"
        "bgt 3b\n"
        : [a00] "=&Te"(a00), [a01] "=&Te"(a01), [a10] "=&Te"(a10), [a11] "=&Te"(a11), [x0] "+r"(x0), [x1] "+r"(x1), [w] "+r"(w),
          [t] "+r"(t), [o0] "+l"(o0), [o1] "+l"(o1), [rest] "+r"(rest)
        : [n] "r"(l.vectors - 1), "0"(l.out_zero)
        : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
  }
}

}  // namespace

void mve_pixels(const MveLayer& layer, const int8_t* x, int32_t step, int32_t count, int8_t* out) {
  switch (layer.vectors) {
    case 1: return few_taps<1>(layer, x, step, count, out);
    case 2: return few_taps<2>(layer, x, step, count, out);
    case 3: return few_taps<3>(layer, x, step, count, out);
    case 4: return few_taps<4>(layer, x, step, count, out);
    default: return many_taps(layer, x, step, count, out);
  }
}

}  // namespace corten
