// What the runtime answers. No call faults on bad input; every one of these is a return value.
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
typedef enum corten_status {
  CORTEN_OK = 0,
  CORTEN_BAD_ALIGNMENT,    // image not on 16 bytes, or arena not on 16 bytes
  CORTEN_BAD_MAGIC,        // these bytes are not a Corten image
  CORTEN_BAD_VERSION,      // image made by another format version: compile again
  CORTEN_BAD_SIZE,         // fewer bytes given than the image says it has
  CORTEN_BAD_CRC,          // image damaged: its CRC-32 does not match
  CORTEN_BAD_TIER,         // image compiled for a kernel tier that this build does not have
  CORTEN_BAD_IMAGE,        // an offset, size or parameter inside the image does not hold
  CORTEN_NO_KERNEL,        // a kernel the image needs is not in the table given
  CORTEN_ARENA_TOO_SMALL,  // see corten_model.arena_needed and .arena_given, both in bytes
  CORTEN_NOT_READY,        // called before a successful init
  CORTEN_BAD_ARGUMENT,     // null pointer, or no such input or output
} corten_status;
#ifdef __cplusplus
}
#endif
