// ATen operators that write in place (relu_, add_, copy_ ...), as they stand in programs that were not decomposed.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace corten {

// A graph has no memory: an in-place node is as good as its functional twin where nobody reads the overwritten tensor, or a view of
// it, afterwards but through the node's own result. Says where that does not hold, and where a buffer or parameter is written.
std::vector<Diag> check_in_place(const Graph&);

}  // namespace corten
