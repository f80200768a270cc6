#include "ops/conv2d/mve_gather.h"

namespace corten {
namespace {

// `n` times `bytes` (1 to 16) from `from`, `from_step` apart, to `to`, `to_step` apart. Assembly for the low-overhead loop.
void copy_columns(int8_t* to, int32_t to_step, const int8_t* from, int32_t from_step, int32_t n, int32_t bytes) {
  if (bytes == 16)
    asm volatile(
        "wls lr, %[n], 2f\n1:\n vldrb.8 q0, [%[from]]\n add %[from], %[from_step]\n vstrb.8 q0, [%[to]]\n"
        "add %[to], %[to_step]\n le lr, 1b\n2:\n"
        : [from] "+r"(from), [to] "+r"(to)
        : [from_step] "r"(from_step), [to_step] "r"(to_step), [n] "r"(n)
        : "q0", "lr", "memory");
  else
    asm volatile(
        "vctp.8 %[bytes]\n wls lr, %[n], 2f\n1:\n vpst\n vldrbt.8 q0, [%[from]]\n add %[from], %[from_step]\n"
        "vpst\n vstrbt.8 q0, [%[to]]\n add %[to], %[to_step]\n le lr, 1b\n2:\n"
        : [from] "+r"(from), [to] "+r"(to)
        : [from_step] "r"(from_step), [to_step] "r"(to_step), [n] "r"(n), [bytes] "r"(bytes)
        : "q0", "lr", "cc", "memory");
}

}  // namespace

MveColumns mve_columns(const ConvParams& p) {
  const int32_t count = (p.out_w - 1) * p.stride_w + (p.k_w - 1) * p.dil_w + 1;
  const int32_t left = p.pad_l < count ? p.pad_l : count, room = count - left;
  return {count, left, p.in_w < room ? p.in_w : room};
}

void mve_gather_row(const ConvParams& p, const MveColumns& columns, const int8_t* image, int32_t iy, int32_t bytes, int8_t* to,
                    int32_t pitch) {
  to += columns.left * pitch;
  const bool outside = uint32_t(iy) >= p.in_h;
  const int8_t* from = image + (outside ? 0 : iy * p.in_w * p.in_c);
  if (bytes == p.in_c && pitch == bytes) {
    const int32_t all = columns.inside * bytes;
    return outside ? mve_fill(to, p.in_zero, all) : mve_copy(to, from, all);
  }
  if (outside) {
    for (int32_t i = 0; i < columns.inside; i++, to += pitch) mve_fill(to, p.in_zero, bytes);
    return;
  }
  for (int32_t c = 0; c < bytes; c += 16)
    copy_columns(to + c, pitch, from + c, p.in_c, columns.inside, bytes - c < 16 ? bytes - c : 16);
}

}  // namespace corten
