// --float-io: the program takes and gives float32; a step at each border quantises.
#pragma once
#include "ir/graph.h"

namespace corten {

void float_io(Graph&);

}  // namespace corten
