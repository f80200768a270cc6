// Shared by verify.cc and run.cc.
#pragma once
#include "runtime/corten.h"
#include "runtime/kernel.h"
#include "runtime/program.h"

namespace corten {

inline const ImageHeader& header_of(const corten_model* m) { return *static_cast<const ImageHeader*>(m->memory[0].base); }

// The caller's entry for a kernel of the image, or null. A generated table is in the image's order, so the first look finds it.
inline const KernelEntry* find_kernel(const corten_model* m, uint32_t index) {
  const uint32_t id = image_at<ImageKernel>(m->memory[0].base, header_of(m).kernel_table)[index].id;
  if (index < m->kernel_count && m->kernels[index].id == id) return &m->kernels[index];
  for (uint32_t i = 0; i < m->kernel_count; i++)
    if (m->kernels[i].id == id) return &m->kernels[i];
  return nullptr;
}

}  // namespace corten
