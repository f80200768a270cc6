// Optional: prints what each step and each output of an inference is, in lines that `corten decode` reads from a log.
//
//   #include "runtime/trace.h"
//   static void put(const char* text, size_t length) { while (length--) uart_send(*text++); }
//   static corten::Trace trace = {put};
//   ...
//   corten::start_trace(model.state(), trace);  // after init; from now on every run prints
//
// No heap, no stdio, about 200 bytes of stack. docs/program.md has the framing.
#pragma once
#include "runtime/corten.h"
#include "runtime/crc32.h"
#include "runtime/program.h"

namespace corten {

inline constexpr char kTraceMark[] = "CRTN1 ";  // begins a line
inline constexpr uint32_t kTraceMarkChars = sizeof kTraceMark - 1;
inline constexpr uint32_t kTraceBytes = 48;       // of a tensor in a line, but its last
inline constexpr uint32_t kTraceOutput = 0x8000;  // number of output 0; steps count from 0
inline constexpr char kTraceDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct Trace {
  void (*put)(const char* text, size_t length);  // whole lines; text[length] is 0
  uint32_t inference = 0;                        // the number of the one that runs; counts up
};

namespace trace_detail {

inline char* add_hex(char* p, uint32_t value, int digits) {
  while (digits--) *p++ = "0123456789abcdef"[value >> 4 * digits & 15];
  *p++ = ' ';
  return p;
}

inline char* add_base64(char* p, const uint8_t* data, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 3) {
    const uint32_t left = bytes - i;
    const uint32_t v = uint32_t(data[i]) << 16 | (left > 1 ? uint32_t(data[i + 1]) << 8 : 0) | (left > 2 ? data[i + 2] : 0);
    *p++ = kTraceDigits[v >> 18];
    *p++ = kTraceDigits[v >> 12 & 63];
    *p++ = left > 1 ? kTraceDigits[v >> 6 & 63] : '=';
    *p++ = left > 2 ? kTraceDigits[v & 63] : '=';
  }
  return p;
}

inline void print_line(const Trace& t, uint32_t image, uint32_t tensor, uint32_t offset, uint32_t bytes, const uint8_t* data) {
  char line[128];  // 122 at most
  char* p = line;
  for (const char* mark = kTraceMark; *mark;) *p++ = *mark++;
  p = add_hex(p, image, 8);
  p = add_hex(p, t.inference, 8);
  p = add_hex(p, tensor, 4);
  p = add_hex(p, offset, 8);
  p = add_hex(p, bytes, 8);
  p = add_base64(p, data + offset, bytes - offset < kTraceBytes ? bytes - offset : kTraceBytes);
  const uint32_t checked = uint32_t(p - line) - kTraceMarkChars;
  const uint32_t crc = ~crc32(~0u, reinterpret_cast<const uint8_t*>(line) + kTraceMarkChars, checked);
  *p++ = ' ';
  p = add_hex(p, crc, 8);
  p[-1] = '\n', *p = 0;
  t.put(line, size_t(p - line));
}

}  // namespace trace_detail

inline void trace_tensor(const Trace& t, uint32_t image, uint32_t tensor, const void* data, uint32_t bytes) {
  for (uint32_t offset = 0; offset < bytes; offset += kTraceBytes)
    trace_detail::print_line(t, image, tensor, offset, bytes, static_cast<const uint8_t*>(data));
}

// What a step wrote, its last operand; after the last step the outputs too. For tracers of your own that leave steps out: call it
// for the last step always.
inline void trace_step(Trace& t, const corten_model* model, uint32_t step) {
  const void* image = model->memory[0].base;
  const ImageHeader& h = *image_at<ImageHeader>(image, 0);
  const ImageStep& s = image_at<ImageStep>(image, h.step_table)[step];
  const uint32_t last = uint32_t(s.inputs + s.outputs - 1), where = operand_places(image, s)[last];
  const uint8_t* memory = static_cast<const uint8_t*>(model->memory[memory_of(where)].base);
  trace_tensor(t, h.crc, step, memory + offset_of(where), operand_sizes(image, s)[last]);
  if (step + 1 < h.steps) return;
  for (uint32_t i = 0; i < h.outputs; i++) {
    corten_tensor output;
    corten_output(model, i, &output);
    trace_tensor(t, h.crc, kTraceOutput + i, output.data, output.bytes);
  }
  t.inference++;
}

inline void start_trace(corten_model& model, Trace& t) {
  model.tracer_context = &t;
  model.tracer = [](void* context, const corten_model* m, uint32_t step) { trace_step(*static_cast<Trace*>(context), m, step); };
}

}  // namespace corten
