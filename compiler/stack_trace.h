// Where a node comes from, as torch.export's metadata tells it.
#pragma once
#include <string>
#include <string_view>

#include "ir/diag.h"

namespace corten {

// The innermost frame that is the user's own, or the innermost of all (a `library` one) if none is. Takes any text.
Location parse_stack_trace(std::string_view stack_trace);

// The path of the innermost module: "layers.0.conv" from "L__self__,,m.Net;L__self___layers_0_conv,layers.0.conv,torch.nn...".
std::string parse_module_stack(std::string_view nn_module_stack);

// The name that a node had in the first of the exports it went through; "" where `from_node` is no such JSON.
std::string parse_from_node(std::string_view from_node);

}  // namespace corten
