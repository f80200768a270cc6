// Bringing input to scratch, padding included, so that the MVE rows need not look at borders.
#pragma once
#include "ops/conv2d/params.h"
#include "runtime/mve.h"

namespace corten {

// The columns of an input row that an output row needs: `left` of padding, `inside` of the image, then padding up to `count`.
struct MveColumns {
  int32_t count, left, inside;
};
MveColumns mve_columns(const ConvParams& p);

// The inside of row iy, `bytes` of each column from `image` on, to `to`, where columns are `pitch` apart; in_zero where the row
// lies outside the image. Padding columns are the caller's.
void mve_gather_row(const ConvParams& p, const MveColumns& columns, const int8_t* image, int32_t iy, int32_t bytes, int8_t* to,
                    int32_t pitch);

}  // namespace corten
