// Firmware of an image for an emulated board: runtime, exactly the kernels' sources it needs, the harness, linked to an ELF.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "compiler/elf.h"
#include "compiler/program_file.h"
#include "compiler/target.h"

namespace corten {

// Where Corten's own sources are: $CORTEN_HOME, or the tree this program was built from, or one beside the executable or the Python
// module. Throws Error.
std::filesystem::path source_root();
// $XDG_CACHE_HOME/corten or ~/.cache/corten; made if it is not there.
std::filesystem::path cache_directory();

// Files (relative to the root) of the operator folder that has this kernel, as far as they are for the tier.
std::vector<std::filesystem::path> kernel_sources(const std::filesystem::path& root, const std::string& kernel, Tier);

// Builds into `directory`: model.h, model.cc and NAME.elf, whose path it returns. Compiled objects are kept in the cache.
// trace: it prints all values with runtime/trace.h.
std::filesystem::path build_firmware(const Program&, const std::filesystem::path& directory, bool trace = false);

// Flash that a firmware takes besides the image: runtime and kernels, without start-up and harness.
uint32_t code_bytes(const Elf&);

// The QEMU plugin of tools/qemu_count.c, compiled at first use.
std::filesystem::path counting_plugin();

}  // namespace corten
