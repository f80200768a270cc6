// An independent recount of the plan from its steps alone: who wrote each byte that is read, and was it written over since?
#include <string>

#include "compiler/passes.h"

namespace corten {

namespace {

struct Span {
  uint64_t from, to;
  bool meets(const Span& o) const { return from < o.to && o.from < to; }
  bool operator==(const Span&) const = default;
};
Span span(const Place& p) { return {p.offset, uint64_t(p.offset) + p.bytes}; }
Span scratch(const PlannedStep& s) { return {s.scratch_offset, uint64_t(s.scratch_offset) + s.lowered.scratch_bytes}; }

bool may_overlap(const PlannedStep& s, int operand) {
  for (const Overlap& w : s.lowered.overlaps)
    if (w.operand == operand && w.allows(s.operands[size_t(operand)].offset, s.operands.back().offset)) return true;
  return false;
}

[[noreturn]] void bad(const Planned& p, size_t step, const std::string& what) {
  throw std::logic_error("plan: step " + std::to_string(step) + " (" + (step < p.steps.size() ? p.steps[step].node : "outputs") +
                         ") " + what);
}

// Reads of `want` before step `reader`: the last step that wrote any of it must have written exactly it.
void check_read(const Planned& p, size_t reader, const Span& want) {
  for (size_t i = reader; i-- > 0;) {
    const PlannedStep& s = p.steps[i];
    if (s.lowered.scratch_bytes && scratch(s).meets(want))
      bad(p, reader, "reads bytes that the scratch of " + s.node + " wrote over");
    const Span made = span(s.operands.back());
    if (!made.meets(want)) continue;
    if (made.from > want.from || made.to < want.to) bad(p, reader, "reads bytes that " + s.node + " wrote over in part");
    return;
  }
  for (const PlannedIo& in : p.inputs) {
    const Span given = span(in.place);
    if (given.from <= want.from && want.to <= given.to) return;
  }
  bad(p, reader, "reads bytes that nobody wrote");
}

}  // namespace

void check_plan(const Planned& p) {
  for (size_t i = 0; i < p.inputs.size(); i++)
    for (size_t j = i + 1; j < p.inputs.size(); j++)
      if (span(p.inputs[i].place).meets(span(p.inputs[j].place))) bad(p, 0, "has inputs that overlap");
  for (size_t i = 0; i < p.steps.size(); i++) {
    const PlannedStep& s = p.steps[i];
    if (s.operands.empty() || s.operands.back().constant) bad(p, i, "writes into a constant");
    const Span out = span(s.operands.back()), own = scratch(s);
    for (size_t k = 0; k < s.operands.size(); k++) {
      const Place& o = s.operands[k];
      if (o.constant) continue;
      if (span(o).to > p.arena_bytes) bad(p, i, "reaches past the arena");
      if (s.lowered.scratch_bytes && own.meets(span(o))) bad(p, i, "has scratch over an operand");
      if (k + 1 == s.operands.size()) continue;
      if (span(o).meets(out) && !(span(o) == out) && !may_overlap(s, int(k))) bad(p, i, "has an output over part of an operand");
      check_read(p, i, span(o));
    }
    if (s.lowered.scratch_bytes && own.to > p.arena_bytes) bad(p, i, "has scratch past the arena");
  }
  for (const PlannedIo& out : p.outputs)
    if (!out.place.constant) check_read(p, p.steps.size(), span(out.place));
}

}  // namespace corten
