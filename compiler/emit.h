// Pass: emit. A plan becomes the program image, and the image becomes the firmware unit.
#pragma once
#include <stdint.h>

#include <span>
#include <string>
#include <vector>

#include "compiler/planned.h"

namespace corten {

// model.corten. Throws Error where the format's limits do not hold.
std::vector<uint8_t> emit_image(const Planned&);
// Writes the CRC-32 of the bytes into an image's header.
void seal_image(std::vector<uint8_t>& image);

// model.h and model.cc: the image as constants in section .corten.image, a table of exactly the kernels it needs, arena size and
// placement, input and output shapes. Everything in them comes from the image, which has been verified or just emitted.
std::string emit_header(std::span<const uint8_t> image);
std::string emit_source(std::span<const uint8_t> image);
inline std::string emit_header(const Planned& p) { return emit_header(emit_image(p)); }
inline std::string emit_source(const Planned& p) { return emit_source(emit_image(p)); }

// What the image says in words, for all who write about it.
struct KernelName {
  uint32_t id;
  std::string name;
};
std::string image_name(std::span<const uint8_t> image);                 // of the model
std::string image_target(std::span<const uint8_t> image);               // "cortex-m55"
std::vector<KernelName> image_kernels(std::span<const uint8_t> image);  // throws Error where a name is not its id's
std::vector<std::string> dim_names(int rank, const uint8_t* perm);      // of the device's dims: {"N", "H", "W", "C"}

}  // namespace corten
