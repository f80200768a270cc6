#include "ir/diag.h"

#include <algorithm>

#include "ir/render.h"

namespace corten {

void fail_file(std::string path, Code code, std::string message, std::string help) {
  std::replace(message.begin(), message.end(), '\n', ' ');  // bytes of a damaged file
  Diag d(code, printable(message), std::move(help));
  d.subject = std::move(path);
  throw Error(std::move(d));
}

}  // namespace corten
