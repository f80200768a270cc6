/* The runtime's C API. model.h is the C++ face of the same calls.

   No heap, no global state: everything is in the corten_model that the caller owns, the arena the caller gives, and the image,
   which stays where it is (flash) and is never written. Calls on different models are independent of each other. Two models without
   state tensors may share one arena, as long as one is not used between filling the other's inputs and reading its outputs. An
   input's bytes may be overwritten by run(): fill every input before each run. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "runtime/status.h"

#ifdef __cplusplus
namespace corten {
struct KernelEntry;
}
typedef corten::KernelEntry corten_kernel;
extern "C" {
#else
typedef struct corten_kernel corten_kernel; /* made by the generated model.cc */
#endif

enum { CORTEN_MAX_RANK = 6, CORTEN_MEMORIES = 4 };
enum { CORTEN_INT8 = 0, CORTEN_FLOAT32 = 1 };

typedef struct corten_memory {
  void* base; /* 16-aligned */
  uint32_t bytes;
} corten_memory;

typedef struct corten_model corten_model;
typedef void (*corten_tracer)(void* context, const corten_model* model, uint32_t step);

/* Opaque but for arena_needed and arena_given (set by corten_init, also when it fails) and the tracer: if not null it is called
   after each step; set it after corten_init. */
struct corten_model {
  corten_memory memory[CORTEN_MEMORIES]; /* [0] is the image */
  const corten_kernel* kernels;
  uint32_t kernel_count;
  uint32_t ready;
  uint32_t arena_needed, arena_given;
  corten_tracer tracer;
  void* tracer_context;
};

typedef struct corten_tensor {
  void* data; /* in the arena */
  uint32_t bytes;
  const char* name;
  uint8_t type; /* CORTEN_INT8 or CORTEN_FLOAT32 */
  uint8_t rank;
  const uint8_t* perm;            /* device dim i is PyTorch's dim perm[i] */
  const uint32_t* shape;          /* PyTorch's order */
  uint32_t dims[CORTEN_MAX_RANK]; /* the device's order, as the bytes lie: channels last */
  float scale;                    /* real = scale * (q - zero) */
  int32_t zero;
} corten_tensor;

/* Checks every byte of the image, and that the kernel table and the memories fit it; then resets the state. Nothing runs unless
   this said CORTEN_OK. image and memories: 16-aligned. memories[0] is the arena. */
corten_status corten_init(corten_model* model, const void* image, size_t image_bytes, const corten_kernel* kernels,
                          uint32_t kernel_count, const corten_memory* memories, uint32_t memory_count);
corten_status corten_run(corten_model* model);
corten_status corten_reset_state(corten_model* model);
uint32_t corten_inputs(const corten_model* model);
uint32_t corten_outputs(const corten_model* model);
corten_status corten_input(const corten_model* model, uint32_t index, corten_tensor* tensor);
corten_status corten_output(const corten_model* model, uint32_t index, corten_tensor* tensor);

static inline const char* corten_status_text(corten_status status) {
  switch (status) {
    case CORTEN_OK:
      return "CORTEN_OK";
    case CORTEN_BAD_ALIGNMENT:
      return "CORTEN_BAD_ALIGNMENT";
    case CORTEN_BAD_MAGIC:
      return "CORTEN_BAD_MAGIC";
    case CORTEN_BAD_VERSION:
      return "CORTEN_BAD_VERSION";
    case CORTEN_BAD_SIZE:
      return "CORTEN_BAD_SIZE";
    case CORTEN_BAD_CRC:
      return "CORTEN_BAD_CRC";
    case CORTEN_BAD_TIER:
      return "CORTEN_BAD_TIER";
    case CORTEN_BAD_IMAGE:
      return "CORTEN_BAD_IMAGE";
    case CORTEN_NO_KERNEL:
      return "CORTEN_NO_KERNEL";
    case CORTEN_ARENA_TOO_SMALL:
      return "CORTEN_ARENA_TOO_SMALL";
    case CORTEN_NOT_READY:
      return "CORTEN_NOT_READY";
    case CORTEN_BAD_ARGUMENT:
      return "CORTEN_BAD_ARGUMENT";
  }
  return "unknown";
}

#ifdef __cplusplus
}
static_assert(sizeof(corten_model) <= 256, "the state a model needs");
#endif
