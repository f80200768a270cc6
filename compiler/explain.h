// What becomes of every node of a model, and why: for people who want to know before they have data or a supported model.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/pipeline.h"

namespace corten {

// {model, target, tier, made_up_ranges, rows[]}; docs/python.md has the fields of a row. `options` are those of compile(); samples,
// if any, hold the model's own inputs. Where there are none, values are made up. A node that can not be compiled is a row like any
// other: the others are compiled as if its results were inputs. Throws Error or Errors where that does not help.
nlohmann::ordered_json explain(CompileOptions options);

// The inputs as the file has them, whether or not its operators are supported.
std::vector<Value> inputs_of(const std::string& model);

}  // namespace corten
