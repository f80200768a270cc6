// How near to its input a pooling's output may lie. All rows make output pixels in order, each from its window where that lies.
#pragma once
#include "ops/pool/params.h"

namespace corten {

// The least d such that the input may start at output + d. test.cc runs every row that close.
inline int64_t pool_overlap(const PoolParams& p) {
  const int64_t row = int64_t(p.in_w) * p.c, image = p.in_h * row;
  int64_t distance = -image * p.n, written = 0;
  for (int64_t n = 0; n < p.n; n++) {
    PoolWalk rows = {pool_rows(p)}, ahead = {pool_rows(p)};
    ahead.next();
    for (int32_t oy = 0; oy < p.out_h; oy++) {
      const PoolSpan r = rows.next();
      const int64_t below = oy + 1 < p.out_h ? n * image + ahead.next().first * row : (n + 1) * image;
      PoolWalk columns = {pool_columns(p)};
      for (int32_t ox = 0; ox < p.out_w; ox++) {
        const int64_t here = n * image + r.first * row + int64_t(columns.next().first) * p.c, needed = here < below ? here : below;
        written += p.c;
        if (written - needed > distance) distance = written - needed;
      }
    }
  }
  return distance;
}

}  // namespace corten
