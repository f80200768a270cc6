// Pairs of shapes that broadcast, for the tests of operators that do.
#pragma once
#include "runtime/broadcast.h"
#include "test/op_test.h"

namespace corten::test {

struct Broadcasting {
  int32_t a_rank;
  uint32_t a[5];
  int32_t b_rank;
  uint32_t b[5];
};
inline constexpr Broadcasting kBroadcasts[] = {
    {1, {1}, 1, {1}},  // one element
    {1, {5}, 1, {5}},  // less than a vector
    {1, {16}, 1, {16}},
    {1, {259}, 1, {259}},  // a tail of 3
    {4, {1, 5, 7, 33}, 4, {1, 5, 7, 33}},
    {4, {1, 8, 8, 16}, 4, {1, 1, 1, 16}},  // per channel
    {4, {1, 3, 3, 19}, 1, {19}},
    {4, {1, 1, 1, 24}, 4, {2, 5, 5, 24}},
    {4, {2, 5, 5, 24}, 4, {2, 1, 1, 24}},  // per image and channel
    {4, {1, 4, 6, 8}, 4, {1, 4, 6, 1}},    // per pixel
    {2, {40, 7}, 1, {1}},                  // a scalar
    {1, {1}, 2, {40, 7}},
    {4, {1, 4, 3, 1}, 4, {1, 1, 1, 5}},  // an outer sum
    {2, {13, 1}, 2, {1, 37}},
    {5, {2, 1, 3, 1, 5}, 5, {1, 4, 1, 6, 5}},  // does not collapse to four dims
    {4, {2, 3, 4, 5}, 4, {2, 1, 4, 1}},
    {3, {7, 1, 40}, 2, {9, 40}},
};

inline uint32_t volume(int32_t rank, const uint32_t* extent) {
  uint32_t n = 1;
  for (int32_t d = 0; d < rank; d++) n *= extent[d];
  return n;
}

// False if the shapes do not collapse to the loops that a kernel has, as only those of rank 5 may; else fills both operands.
inline bool broadcast_operands(const Broadcasting& s, const char* op, long number, const Broadcast& loops) {
  if (loops.count == 0) {
    expect(s.a_rank == 5, op, number, "a shape does not collapse");
    return false;
  }
  g_in.size[0] = volume(s.a_rank, s.a), g_in.size[1] = volume(s.b_rank, s.b);
  for (int i = 0; i < 2; i++) fill(g_in.s8(i), int32_t(g_in.size[i]), number % 3 == 2 ? -20 : -128, 127);
  return true;
}

}  // namespace corten::test
