// The program image: what the compiler writes and the runtime reads in place. docs/program.md describes it.
//
// Little-endian, position-independent (every offset counts from the image's first byte), 16-aligned. Fixed-width fields only.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace corten {

inline constexpr uint32_t kImageMagic = 0x4E545243;  // "CRTN"
inline constexpr uint16_t kImageVersion = 1;
inline constexpr uint32_t kMaxOperands = 32;  // of one step, inputs and outputs together
inline constexpr uint32_t kMaxRank = 6;
inline constexpr uint32_t kMemories = 4;         // the image itself, the arena, and two that a target may add
inline constexpr uint32_t kMaxBytes = 1u << 28;  // of an image or a memory

// Where bytes lie: memory in the top 4 bits, offset in the others.
enum class Memory : uint32_t { image = 0, arena = 1 };
constexpr uint32_t place(Memory memory, uint32_t offset) { return uint32_t(memory) << 28 | offset; }
constexpr uint32_t memory_of(uint32_t where) { return where >> 28; }
constexpr uint32_t offset_of(uint32_t where) { return where & (kMaxBytes - 1); }

struct ImageHeader {
  uint32_t magic;
  uint16_t version;
  uint8_t tier;                      // Tier it was compiled for
  uint8_t reserved;                  // 0
  uint32_t image_bytes;              // all of it, a multiple of 16
  uint32_t crc;                      // CRC-32 (IEEE 802.3) of all bytes but these four
  uint32_t memory_bytes[kMemories];  // needed of each; [0] is 0, [1] the arena, scratch included
  uint16_t inputs, outputs;          // ImageIo at io: inputs, then outputs
  uint16_t steps, kernels, states;   // ImageStep, ImageKernel, ImageState at the offsets below
  uint16_t reserved2;                // 0
  uint32_t io;                       // 8-aligned; the other tables are 4-aligned
  uint32_t step_table, kernel_table, state_table;
  uint32_t strings, strings_bytes;  // zero-terminated names; the last byte is 0. Names are offsets into this
  uint32_t name, target;            // of the model; the core it was compiled for, "cortex-m55"
};
static_assert(sizeof(ImageHeader) == 76 && offsetof(ImageHeader, crc) == 12 && offsetof(ImageHeader, io) == 44, "the image format");

// One program input or output.
struct ImageIo {
  double scale;   // real = scale * (q - zero); 1 and 0 where the type is float
  float scale32;  // the same, for the core
  int32_t zero;
  uint32_t where, bytes;
  uint32_t name;
  uint32_t shape[kMaxRank];  // PyTorch's order, 0 beyond the rank
  uint8_t type;              // IoType
  uint8_t rank;
  uint8_t perm[kMaxRank];  // device dim i is PyTorch dim perm[i]
  uint32_t reserved;       // 0
};
static_assert(sizeof(ImageIo) == 64 && offsetof(ImageIo, shape) == 28 && offsetof(ImageIo, type) == 52, "the image format");
enum class IoType : uint8_t { i8 = 0, f32 = 1 };

struct ImageKernel {
  uint32_t id;  // kernel_id of the name
  uint32_t name;
};
static_assert(sizeof(ImageKernel) == 8, "the image format");

// A tensor that lives from run to run.
struct ImageState {
  uint32_t where, bytes;
  uint32_t start;  // image offset of its start value
};
static_assert(sizeof(ImageState) == 12, "the image format");

struct ImageStep {
  uint16_t kernel;  // index into the kernel table
  uint8_t inputs, outputs;
  uint32_t operands;                // image offset, 4-aligned: where of each (on 16 bytes), then bytes of each
  uint32_t params, params_bytes;    // image offset, 4-aligned
  uint32_t scratch, scratch_bytes;  // where, 16-aligned
  uint32_t node;                    // name, for people
};
static_assert(sizeof(ImageStep) == 28, "the image format");

// For images that have been verified.
template <class T>
const T* image_at(const void* image, uint32_t offset) {
  return reinterpret_cast<const T*>(static_cast<const uint8_t*>(image) + offset);
}
inline const uint32_t* operand_places(const void* image, const ImageStep& s) { return image_at<uint32_t>(image, s.operands); }
inline const uint32_t* operand_sizes(const void* image, const ImageStep& s) {
  return operand_places(image, s) + s.inputs + s.outputs;
}
inline const char* image_string(const void* image, uint32_t name) {
  return image_at<char>(image, static_cast<const ImageHeader*>(image)->strings + name);
}

}  // namespace corten
