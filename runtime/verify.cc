// Proving an image before it runs: whatever the bytes are, either a Status or a program whose every access is in bounds.
#include "runtime/crc32.h"
#include "runtime/lookup.h"
#include "runtime/tier.h"

namespace corten {

// [offset, offset + bytes) lies below limit; no sum that could wrap.
static bool inside(uint32_t offset, uint32_t bytes, uint32_t limit) { return offset <= limit && bytes <= limit - offset; }

// A table of the image; counts are 16 bits and entries 64 bytes at most, so the product fits.
static bool table_inside(const ImageHeader& h, uint32_t offset, uint32_t count, uint32_t entry, uint32_t align) {
  return offset % align == 0 && inside(offset, count * entry, h.image_bytes);
}

// A range in one of the memories, on 16 bytes; `writable` forbids the image.
static bool place_inside(const ImageHeader& h, uint32_t where, uint32_t bytes, bool writable) {
  const uint32_t memory = memory_of(where);
  if (memory >= kMemories || where % 16 || (writable && memory == 0)) return false;
  return inside(offset_of(where), bytes, memory ? h.memory_bytes[memory] : h.image_bytes);
}

static bool string_inside(const ImageHeader& h, uint32_t name) { return name < h.strings_bytes; }

static bool verify_io(const ImageHeader& h, const ImageIo& io, bool input) {
  if (io.type > uint8_t(IoType::f32) || io.rank > kMaxRank || !string_inside(h, io.name)) return false;
  uint64_t bytes = io.type == uint8_t(IoType::f32) ? 4 : 1;
  uint32_t seen = 0;
  for (uint32_t d = 0; d < io.rank; d++) {
    if (io.perm[d] >= io.rank) return false;
    seen |= 1u << io.perm[d];
    bytes *= io.shape[d];
    if (bytes >= kMaxBytes) return false;
  }
  return seen == (1u << io.rank) - 1 && bytes == io.bytes && place_inside(h, io.where, io.bytes, input);
}

// All that is not a step.
static bool verify_tables(const ImageHeader& h) {
  for (uint32_t i = 1; i < kMemories; i++)
    if (h.memory_bytes[i] >= kMaxBytes) return false;
  if (!table_inside(h, h.io, h.inputs + uint32_t(h.outputs), sizeof(ImageIo), 8)) return false;
  if (!table_inside(h, h.step_table, h.steps, sizeof(ImageStep), 4)) return false;
  if (!table_inside(h, h.kernel_table, h.kernels, sizeof(ImageKernel), 4)) return false;
  if (!table_inside(h, h.state_table, h.states, sizeof(ImageState), 4)) return false;
  if (!h.strings_bytes || !inside(h.strings, h.strings_bytes, h.image_bytes)) return false;
  if (*image_at<char>(&h, h.strings + h.strings_bytes - 1) || !string_inside(h, h.name) || !string_inside(h, h.target))
    return false;
  const ImageIo* io = image_at<ImageIo>(&h, h.io);
  for (uint32_t i = 0; i < h.inputs + uint32_t(h.outputs); i++)
    if (!verify_io(h, io[i], i < h.inputs)) return false;
  const ImageKernel* kernel = image_at<ImageKernel>(&h, h.kernel_table);
  for (uint32_t i = 0; i < h.kernels; i++)
    if (!string_inside(h, kernel[i].name)) return false;
  const ImageState* state = image_at<ImageState>(&h, h.state_table);
  for (uint32_t i = 0; i < h.states; i++)
    if (!place_inside(h, state[i].where, state[i].bytes, true) || !inside(state[i].start, state[i].bytes, h.image_bytes))
      return false;
  return true;
}

// Its own fields first, then what its kernel says about the params.
static corten_status verify_step(const corten_model* m, const ImageStep& s) {
  const ImageHeader& h = header_of(m);
  const uint32_t operands = s.inputs + s.outputs;
  if (s.kernel >= h.kernels || operands > kMaxOperands || !string_inside(h, s.node)) return CORTEN_BAD_IMAGE;
  if (!table_inside(h, s.operands, operands, 2 * sizeof(uint32_t), 4)) return CORTEN_BAD_IMAGE;
  if (s.params % 4 || !inside(s.params, s.params_bytes, h.image_bytes)) return CORTEN_BAD_IMAGE;
  if (!place_inside(h, s.scratch, s.scratch_bytes, s.scratch_bytes != 0)) return CORTEN_BAD_IMAGE;
  const uint32_t *where = operand_places(&h, s), *bytes = operand_sizes(&h, s);
  for (uint32_t k = 0; k < operands; k++)
    if (!place_inside(h, where[k], bytes[k], k >= s.inputs)) return CORTEN_BAD_IMAGE;
  const KernelEntry* kernel = find_kernel(m, s.kernel);
  if (!kernel) return CORTEN_NO_KERNEL;
  const CheckArgs args = {image_at<void>(&h, s.params), s.params_bytes, h.image_bytes, bytes, operands, s.scratch_bytes};
  return kernel->check(&args) ? CORTEN_OK : CORTEN_BAD_IMAGE;
}

// Is this a whole, undamaged image that this build may run?
static corten_status verify_header(const void* image, size_t bytes) {
  const ImageHeader& h = *static_cast<const ImageHeader*>(image);
  if (bytes < sizeof(uint32_t)) return CORTEN_BAD_SIZE;
  if (h.magic != kImageMagic) return CORTEN_BAD_MAGIC;
  if (bytes < sizeof(ImageHeader)) return CORTEN_BAD_SIZE;
  if (h.version != kImageVersion) return CORTEN_BAD_VERSION;
  if (h.image_bytes > bytes || h.image_bytes < sizeof(ImageHeader) || h.image_bytes % 16 || h.image_bytes >= kMaxBytes)
    return CORTEN_BAD_SIZE;
  constexpr uint32_t kAfter = offsetof(ImageHeader, crc) + sizeof h.crc;
  const uint32_t before = crc32(~0u, image_at<uint8_t>(image, 0), offsetof(ImageHeader, crc));
  if (~crc32(before, image_at<uint8_t>(image, kAfter), h.image_bytes - kAfter) != h.crc) return CORTEN_BAD_CRC;
  return h.tier > uint8_t(kTier) ? CORTEN_BAD_TIER : CORTEN_OK;
}

// Takes the caller's memories into the model; the image's own entry is there already.
static corten_status take_memories(corten_model* m, const corten_memory* given, uint32_t count) {
  const ImageHeader& h = header_of(m);
  m->arena_needed = h.memory_bytes[1], m->arena_given = count ? given[0].bytes : 0;
  for (uint32_t i = 1; i < kMemories; i++) {
    if (i - 1 < count) m->memory[i] = given[i - 1];
    if (reinterpret_cast<uintptr_t>(m->memory[i].base) % 16) return CORTEN_BAD_ALIGNMENT;
    if (m->memory[i].bytes < h.memory_bytes[i]) return CORTEN_ARENA_TOO_SMALL;
    if (!m->memory[i].base && h.memory_bytes[i]) return CORTEN_BAD_ARGUMENT;
  }
  return CORTEN_OK;
}

// The C library's memset is larger than this.
static void clear(corten_model* m) {
  uint8_t* byte = reinterpret_cast<uint8_t*>(m);
  for (uint32_t i = 0; i < sizeof *m; i++) {
    byte[i] = 0;
    asm volatile("" ::: "memory");  // or the compiler makes this a call of memset again
  }
}

static corten_status verify(corten_model* m, const corten_memory* memories, uint32_t memory_count) {
  const ImageHeader& h = header_of(m);
  if (!verify_tables(h)) return CORTEN_BAD_IMAGE;
  const ImageStep* step = image_at<ImageStep>(&h, h.step_table);
  for (uint32_t i = 0; i < h.steps; i++)
    if (corten_status status = verify_step(m, step[i])) return status;
  return take_memories(m, memories, memory_count);
}

}  // namespace corten
using namespace corten;

extern "C" corten_status corten_init(corten_model* m, const void* image, size_t image_bytes, const corten_kernel* kernels,
                                     uint32_t kernel_count, const corten_memory* memories, uint32_t memory_count) {
  if (!m) return CORTEN_BAD_ARGUMENT;
  clear(m);
  if (!image || (!kernels && kernel_count) || (!memories && memory_count)) return CORTEN_BAD_ARGUMENT;
  if (reinterpret_cast<uintptr_t>(image) % 16) return CORTEN_BAD_ALIGNMENT;
  if (corten_status status = verify_header(image, image_bytes)) return status;
  m->memory[0].base = const_cast<void*>(image);  // written by no one: outputs, scratch and state are refused in memory 0
  m->memory[0].bytes = static_cast<const ImageHeader*>(image)->image_bytes;
  m->kernels = kernels, m->kernel_count = kernel_count;
  if (corten_status status = verify(m, memories, memory_count)) return status;
  m->ready = 1;
  return corten_reset_state(m);
}
