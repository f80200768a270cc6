// Running a verified image, step by step.
#include "runtime/copy.h"
#include "runtime/lookup.h"

namespace corten {

constexpr uint32_t kFewOperands = 4;
static_assert(sizeof(void*) != 4 || sizeof(corten_model) == 60, "what compiler/budget.h counts as RAM");

static void* resolve(const corten_model* m, uint32_t where) {
  return static_cast<uint8_t*>(m->memory[memory_of(where)].base) + offset_of(where);
}

static corten_status fill_tensor(const corten_model* m, uint32_t index, corten_tensor* t) {
  const ImageIo& io = image_at<ImageIo>(m->memory[0].base, header_of(m).io)[index];
  t->data = resolve(m, io.where);
  t->bytes = io.bytes;
  t->name = image_string(m->memory[0].base, io.name);
  t->type = io.type, t->rank = io.rank;
  t->perm = io.perm, t->shape = io.shape;
  for (uint32_t d = 0; d < kMaxRank; d++) t->dims[d] = d < io.rank ? io.shape[io.perm[d]] : 0;
  t->scale = io.scale32, t->zero = io.zero;
  return CORTEN_OK;
}

// Calls a step's kernel. Two of these, as most steps need the stack of a few operand pointers only; the bench finds them by name.
template <uint32_t kOperands>
__attribute__((noinline)) static void run_step(const corten_model* m, const ImageStep* s) {
  const uint8_t* image = static_cast<const uint8_t*>(m->memory[0].base);
  const uint32_t* where = operand_places(image, *s);
  void* operand[kOperands];
  const uint32_t operands = s->inputs + s->outputs;
  for (uint32_t k = 0; k < operands; k++) operand[k] = resolve(m, where[k]);
  const KernelArgs args = {image + s->params, image, operand, s->scratch_bytes ? resolve(m, s->scratch) : nullptr};
  find_kernel(m, s->kernel)->run(&args);
}

}  // namespace corten
using namespace corten;

extern "C" {

uint32_t corten_inputs(const corten_model* m) { return m && m->ready ? header_of(m).inputs : 0; }
uint32_t corten_outputs(const corten_model* m) { return m && m->ready ? header_of(m).outputs : 0; }

corten_status corten_input(const corten_model* m, uint32_t index, corten_tensor* t) {
  if (!m || !t) return CORTEN_BAD_ARGUMENT;
  if (!m->ready) return CORTEN_NOT_READY;
  return index < header_of(m).inputs ? fill_tensor(m, index, t) : CORTEN_BAD_ARGUMENT;
}

corten_status corten_output(const corten_model* m, uint32_t index, corten_tensor* t) {
  if (!m || !t) return CORTEN_BAD_ARGUMENT;
  if (!m->ready) return CORTEN_NOT_READY;
  const ImageHeader& h = header_of(m);
  return index < h.outputs ? fill_tensor(m, h.inputs + index, t) : CORTEN_BAD_ARGUMENT;
}

corten_status corten_reset_state(corten_model* m) {
  if (!m) return CORTEN_BAD_ARGUMENT;
  if (!m->ready) return CORTEN_NOT_READY;
  const ImageHeader& h = header_of(m);
  const ImageState* state = image_at<ImageState>(&h, h.state_table);
  for (uint32_t i = 0; i < h.states; i++)
    copy_bytes(resolve(m, state[i].where), image_at<void>(&h, state[i].start), state[i].bytes);
  return CORTEN_OK;
}

corten_status corten_run(corten_model* m) {
  if (!m) return CORTEN_BAD_ARGUMENT;
  if (!m->ready) return CORTEN_NOT_READY;
  const ImageHeader& h = header_of(m);
  const ImageStep* step = image_at<ImageStep>(&h, h.step_table);
  for (uint32_t i = 0; i < h.steps; i++, step++) {
    if (step->inputs + step->outputs <= kFewOperands)
      run_step<kFewOperands>(m, step);
    else
      run_step<kMaxOperands>(m, step);
    if (m->tracer) m->tracer(m->tracer_context, m, i);
  }
  return CORTEN_OK;
}

}  // extern "C"
