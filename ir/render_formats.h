// Messages for programs. Private to ir/.
#pragma once
#include <string>
#include <vector>

#include "ir/render.h"

namespace corten {

std::string json_text(const std::vector<Group>&);    // an array, one object a message
std::string github_text(const std::vector<Group>&);  // workflow commands of GitHub Actions
std::string sarif_text(const std::vector<Group>&);   // a log of SARIF 2.1.0

}  // namespace corten
