// Assembly, because GCC's intrinsics give neither the order of loads and multiplies that keeps both units busy (one load, one
// vmladava, in turn), nor accumulators in registers: it spills.
#include "ops/conv2d/mve_gemm.h"

namespace corten {
namespace {

// One vector of one channel: load 16 weights into `q`, multiply with the taps in `x`, into accumulator `a`.
#define FIRST(x, q, a) "vldrb.8 " q ", [%[w]], #16\n vmladav.s8 %[" a "], " x ", " q "\n"
#define NEXT(x, q, a) "vldrb.8 " q ", [%[w]], #16\n vmladava.s8 %[" a "], " x ", " q "\n"
#define PAIR(x, a, b) NEXT(x, "q4", a) NEXT(x, "q5", b)
// The accumulators of a quad become q6 = (acc + bias) * mult >> shift.
#define SCALE                         \
  "vmov q6[2], q6[0], %[a0], %[a2]\n" \
  "vldrw.32 q4, [%[t]], #16\n"        \
  "vmov q6[3], q6[1], %[a1], %[a3]\n" \
  "vadd.i32 q6, q6, q4\n"             \
  "vldrw.32 q5, [%[t]], #16\n"        \
  "vqdmulh.s32 q6, q6, q5\n"          \
  "vldrb.s32 q4, [%[t]], #4\n"        \
  "vrshl.s32 q6, q6, q4\n"
// q6 becomes four bytes; in the loop these steps stand between the multiplies of the next quad.
#define ADD_ZERO "vadd.i32 q6, q6, q7\n"
#define TO_16 "vqmovnb.s32 q6, q6\n"
#define TO_8 "vqmovnb.s16 q6, q6\n"
#define STORE "vstrb.32 q6, [%[o]], #4\n"
// A quad's multiplies: EARLY are those of channels 0 and 2 after the first vector, LATE the same of channels 1 and 3.
#define QUAD(EARLY, LATE) FIRST("q0", "q4", "a0") FIRST("q0", "q5", "a2") EARLY FIRST("q0", "q4", "a1") FIRST("q0", "q5", "a3") LATE
#define QUAD_AND_STORE_1 \
  FIRST("q0", "q4", "a0") ADD_ZERO FIRST("q0", "q5", "a2") TO_16 FIRST("q0", "q4", "a1") TO_8 FIRST("q0", "q5", "a3") STORE
#define QUAD_AND_STORE(EARLY, LATE)                                                                                             \
  FIRST("q0", "q4", "a0")                                                                                                       \
  ADD_ZERO FIRST("q0", "q5", "a2") TO_16 NEXT("q1", "q4", "a0") TO_8 NEXT("q1", "q5", "a2") STORE EARLY FIRST("q0", "q4", "a1") \
      FIRST("q0", "q5", "a3") LATE
#define LAST(q, offset) "vpst\n vldrbt.8 " q ", [%[x], #" offset "]\n"
#define FULL(q, offset) "vldrb.8 " q ", [%[x], #" offset "]\n"

// What stays the same from pixel to pixel; read by the assembly at these offsets.
struct Pixels {
  const int8_t* w;   // 0
  const int32_t* t;  // 4
  int32_t more;      // 8: quads after the first
  int32_t rest;      // 12: channels of the last quad
  int32_t tail;      // 16: taps of the last vector
  int32_t x_step;    // 20
  int32_t o_step;    // 24: from the last quad to the next pixel's first
};

// All pixels, for each all quads: LOAD the pixel's taps, then the first quad's multiplies, then the others' with the stores of
// those before between them.
#define RUN(LOAD, QUAD, QUAD_AND_STORE)                                                                                \
  asm volatile(                                                                                                        \
      "vdup.32 q7, %[a0]\n"                                                                                            \
      "1:\n"                                                                                                           \
      "ldr %[a0], [%[f], #16]\n"                                                                                       \
      "ldrd %[w], %[t], [%[f]]\n"                                                                                      \
      "vctp.8 %[a0]\n" LOAD QUAD SCALE                                                                                 \
      "ldr %[a0], [%[f], #8]\n"                                                                                        \
      "wls lr, %[a0], 3f\n"                                                                                            \
      "2:\n" QUAD_AND_STORE SCALE                                                                                      \
      "le lr, 2b\n"                                                                                                    \
      "3:\n"                                                                                                           \
      "ldrd %[a0], %[a1], [%[f], #12]\n" ADD_ZERO                                                                      \
      "ldrd %[a1], %[a2], [%[f], #20]\n"                                                                               \
      "vctp.32 %[a0]\n" TO_16 "add %[x], %[a1]\n" TO_8                                                                 \
      "subs %[count], #1\n"                                                                                            \
      "vpst\n"                                                                                                         \
      "vstrbt.32 q6, [%[o]]\n"                                                                                         \
      "add %[o], %[a2]\n"                                                                                              \
      "bgt 1b\n"                                                                                                       \
      : [a0] "=&Te"(a0), [a1] "=&Te"(a1), [a2] "=&Te"(a2), [a3] "=&Te"(a3), [w] "=&r"(w), [t] "=&l"(t), [o] "+l"(out), \
        [x] "+r"(x), [count] "+r"(count)                                                                               \
      : [f] "r"(&f), "0"(zero)                                                                                         \
      : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory")

// The pixel's taps stay in registers, the weights stream by.
template <int kVectors>
__attribute__((noinline)) void few_taps(const Pixels& f, int32_t zero, const int8_t* x, int32_t count, int8_t* out) {
  const int8_t* w;
  const int32_t* t;
  int32_t a0, a1, a2, a3;
  if constexpr (kVectors == 1)
    RUN(LAST("q0", "0"), QUAD("", ""), QUAD_AND_STORE_1);
  else if constexpr (kVectors == 2)
    RUN(FULL("q0", "0") LAST("q1", "16"), QUAD(PAIR("q1", "a0", "a2"), PAIR("q1", "a1", "a3")),
        QUAD_AND_STORE("", PAIR("q1", "a1", "a3")));
  else if constexpr (kVectors == 3)
    RUN(FULL("q0", "0") FULL("q1", "16") LAST("q2", "32"),
        QUAD(PAIR("q1", "a0", "a2") PAIR("q2", "a0", "a2"), PAIR("q1", "a1", "a3") PAIR("q2", "a1", "a3")),
        QUAD_AND_STORE(PAIR("q2", "a0", "a2"), PAIR("q1", "a1", "a3") PAIR("q2", "a1", "a3")));
  else
    RUN(FULL("q0", "0") FULL("q1", "16") FULL("q2", "32") LAST("q3", "48"),
        QUAD(PAIR("q1", "a0", "a2") PAIR("q2", "a0", "a2") PAIR("q3", "a0", "a2"),
             PAIR("q1", "a1", "a3") PAIR("q2", "a1", "a3") PAIR("q3", "a1", "a3")),
        QUAD_AND_STORE(PAIR("q2", "a0", "a2") PAIR("q3", "a0", "a2"),
                       PAIR("q1", "a1", "a3") PAIR("q2", "a1", "a3") PAIR("q3", "a1", "a3")));
}

// Up to 16 taps: four channels' weights stay in registers (q0 to q3), the pixels stream by. A pixel's multiplies stand between the
// scaling steps of the one before.
#define MULTIPLY(q, a) "vmladava.s8 %[" a "], q4, " q "\n"
__attribute__((noinline)) void four_channels(const int8_t* w, const int32_t* t, int32_t zero, uint32_t taps, const int8_t* x,
                                             int32_t step, int32_t count, int8_t* o, int32_t o_step) {
  int32_t a0, a1, a2, a3;  // at first: taps, weights, pixels after the first
  asm volatile(
      "vctp.8 %[a0]\n"
      "mov lr, %[a2]\n"
      "vldrb.8 q0, [%[a1]]\n"
      "vldrb.8 q1, [%[a1], #16]\n"
      "vldrb.8 q2, [%[a1], #32]\n"
      "vldrb.8 q3, [%[a1], #48]\n"
      "vldrw.32 q5, [%[t], #16]\n"
      "vldrb.s32 q6, [%[t], #32]\n"
      "vpst\n"
      "vldrbt.8 q4, [%[x]]\n"
      "ldrd %[a0], %[a1], [%[t]]\n"
      "ldrd %[a2], %[a3], [%[t], #8]\n" MULTIPLY("q0", "a0") MULTIPLY("q1", "a2") MULTIPLY("q2", "a1") MULTIPLY("q3", "a3")
      "wls lr, lr, 2f\n"
      "1:\n"
      "add %[x], %[step]\n"
      "vpst\n"
      "vldrbt.8 q4, [%[x]]\n"
      "vmov q7[2], q7[0], %[a0], %[a2]\n"
      "vmov q7[3], q7[1], %[a1], %[a3]\n"
      "ldrd %[a0], %[a1], [%[t]]\n"
      "vqdmulh.s32 q7, q7, q5\n"
      "ldrd %[a2], %[a3], [%[t], #8]\n" MULTIPLY("q0", "a0")
      "vrshl.s32 q7, q7, q6\n" MULTIPLY("q1", "a2")
      "vadd.i32 q7, q7, %[zero]\n" MULTIPLY("q2", "a1")
      "vqmovnb.s32 q7, q7\n" MULTIPLY("q3", "a3")
      "vqmovnb.s16 q7, q7\n"
      "vstrb.32 q7, [%[o]]\n"
      "add %[o], %[o_step]\n"
      "le lr, 1b\n"
      "2:\n"
      "vmov q7[2], q7[0], %[a0], %[a2]\n"
      "vmov q7[3], q7[1], %[a1], %[a3]\n"
      "vqdmulh.s32 q7, q7, q5\n"
      "vrshl.s32 q7, q7, q6\n"
      "vadd.i32 q7, q7, %[zero]\n"
      "vqmovnb.s32 q7, q7\n"
      "vqmovnb.s16 q7, q7\n"
      "vstrb.32 q7, [%[o]]\n"
      : [a0] "=&Te"(a0), [a1] "=&Te"(a1), [a2] "=&Te"(a2), [a3] "=&Te"(a3), [x] "+r"(x), [o] "+l"(o)
      : [t] "l"(t), [zero] "r"(zero), [step] "r"(step), [o_step] "r"(o_step), "0"(taps), "1"(w), "2"(count - 1)
      : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}

}  // namespace

void mve_pixels_16(const MveLayer& l, const int8_t* x, int32_t step, int32_t count, int8_t* out) {
  const int8_t* w = l.weights;
  const int32_t* t = l.tables;
  int32_t channels = l.out_c;
  for (; channels >= 4; channels -= 4, w += 64, t += kQuadTable, out += 4)
    four_channels(w, t, l.out_zero, l.taps, x, step, count, out, l.o_step);
  if (channels) few_taps<1>(Pixels{w, t, 0, channels, int32_t(l.taps), step, l.o_step}, l.out_zero, x, count, out);
}

void mve_pixels_64(const MveLayer& l, const int8_t* x, int32_t step, int32_t count, int8_t* out) {
  const int32_t quads = (l.out_c + 3) >> 2, rest = l.out_c - 4 * (quads - 1);
  const Pixels f = {
      l.weights, l.tables, quads - 1, rest, int32_t(l.taps) - 16 * (int32_t(l.vectors) - 1), step, l.o_step - 4 * (quads - 1)};
  if (l.vectors == 2)
    few_taps<2>(f, l.out_zero, x, count, out);
  else if (l.vectors == 3)
    few_taps<3>(f, l.out_zero, x, count, out);
  else
    few_taps<4>(f, l.out_zero, x, count, out);
}

namespace {

// What two pixels need; read by the assembly at these offsets. (As operands they would be more than there are registers.)
struct TwoPixels {
  const int8_t *x0, *x1;  // 0
  const int8_t* w;        // 8
  const int32_t* t;       // 12
  int32_t more;           // 16: vectors but the first and the last
  int32_t rest;           // 20: channels to go
};

// Two channels times two pixels, all vectors: the load of the next operand always stands between two multiplies. The first
// vector's multiplies start the sums.
#define STEP(accumulate)       \
  "vmladav" accumulate         \
  ".s8 %[a00], q0, q2\n"       \
  "vldrb.8 q3, [%[w]], #16\n"  \
  "vmladav" accumulate         \
  ".s8 %[a10], q0, q3\n"       \
  "vldrb.8 q1, [%[x1]], #16\n" \
  "vmladav" accumulate         \
  ".s8 %[a01], q1, q2\n"       \
  "vldrb.8 q0, [%[x0]], #16\n" \
  "vmladav" accumulate         \
  ".s8 %[a11], q1, q3\n"       \
  "vldrb.8 q2, [%[w]], #16\n"
#define BLOCK \
  "ldrd %[x0], %[x1], [%[f]]\n"                   \
  "vldrb.8 q2, [%[w]], #16\n"                     \
  "ldr lr, [%[f], #16]\n"                         \
  "vldrb.8 q0, [%[x0]], #16\n" STEP("") \
  "dls lr, lr\n"                                  \
  "1:\n" STEP("a")                      \
  "le lr, 1b\n"                                   \
  "vmladava.s8 %[a00], q0, q2\n"                  \
  "vldrb.8 q3, [%[w]], #16\n"                     \
  "vmladava.s8 %[a10], q0, q3\n"                  \
  "vldrb.8 q1, [%[x1]]\n"                         \
  "vmladava.s8 %[a01], q1, q2\n"                  \
  "vldrw.32 q6, [%[t]]\n"                         \
  "vmladava.s8 %[a11], q1, q3\n"

// Four channels (two blocks) of two pixels at a time; outputs to o0 and o1.
inline void two_pixels(TwoPixels& f, int32_t zero, int8_t* o0, int8_t* o1) {
  const int8_t *x0, *x1, *w;
  const int32_t* t;
  int32_t a00, a01, a10, a11;
  asm volatile(
      "vdup.16 q7, %[a00]\n"
      "ldrd %[w], %[t], [%[f], #8]\n"
      "3:\n" BLOCK
      "vmov q4[2], q4[0], %[a00], %[a10]\n"
      "vmov q5[2], q5[0], %[a01], %[a11]\n" BLOCK
      "vldrw.32 q3, [%[t], #16]\n"
      "vmov q4[3], q4[1], %[a00], %[a10]\n"
      "vadd.i32 q4, q4, q6\n"
      "vmov q5[3], q5[1], %[a01], %[a11]\n"
      "vqdmulh.s32 q4, q4, q3\n"
      "vadd.i32 q5, q5, q6\n"
      "vldrb.s32 q6, [%[t], #32]\n"
      "vqdmulh.s32 q5, q5, q3\n"
      "ldr %[a00], [%[f], #20]\n"
      "vrshl.s32 q4, q4, q6\n"
      "adds %[t], #36\n"
      "vctp.32 %[a00]\n"
      "vrshl.s32 q5, q5, q6\n"
      "subs %[a00], #4\n"
      "vqmovnb.s32 q4, q4\n"
      "str %[a00], [%[f], #20]\n"
      "vqmovnt.s32 q4, q5\n"
      "vqadd.s16 q4, q4, q7\n"
      "vqmovnb.s16 q4, q4\n"
      "vshr.u32 q5, q4, #16\n"
      "vpstt\n"
      "vstrbt.32 q4, [%[o0]], #4\n"
      "vstrbt.32 q5, [%[o1]], #4\n"
      "bgt 3b\n"
      : [a00] "=&Te"(a00), [a01] "=&Te"(a01), [a10] "=&Te"(a10), [a11] "=&Te"(a11), [x0] "=&r"(x0), [x1] "=&r"(x1), [w] "=&r"(w),
        [t] "=&l"(t), [o0] "+l"(o0), [o1] "+l"(o1)
      : [f] "r"(&f), "0"(zero)
      : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}

}  // namespace

// The last of an odd number of pixels goes with its predecessor once more; a lone one with itself.
void mve_pixels(const MveLayer& l, const int8_t* x, int32_t step, int32_t count, int8_t* out) {
  const int32_t o_step = count == 1 ? 0 : l.o_step, zero = l.out_zero;
  if (count == 1) step = 0;
  TwoPixels f = {x, x, l.weights, l.tables, int32_t(l.vectors) - 2, 0};
  for (; count > 0; count -= 2, x += 2 * step, out += 2 * o_step) {
    if (count == 1) x -= step, out -= o_step;
    f.x0 = x, f.x1 = x + step, f.rest = l.out_c;
    two_pixels(f, zero, out, out + o_step);
  }
}

}  // namespace corten
