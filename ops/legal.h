// What op.cc files share beyond the contract: reading ATen arguments, clamps in attributes, broadcasting, strided copies.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "ops/op.h"
#include "ops/weights.h"
#include "runtime/broadcast.h"

namespace corten {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- reading ATen ---------------------------------------------------------------------------------------------------------

// An argument that is a tensor, or a number written in its place.
struct Operand {
  ValueId value = kNone;
  double number = 0;
  bool is_number() const { return value == kNone; }
};
inline Operand operand(const Legalizer& l, std::string_view name) {
  const ValueId v = l.optional_tensor(name);
  if (v != kNone) return {v, 0};
  if (!l.n.has(name)) l.fail(Code::unsupported_use, "argument '" + std::string(name) + "' of " + l.n.aten + " is missing");
  return {kNone, l.n.real(name)};
}

// A constant with one element counts as a number.
inline Operand scalar_or_tensor(const Legalizer& l, std::string_view name) {
  Operand o = operand(l, name);
  if (!o.is_number() && l.g.is_constant(o.value) && elements(l.shape(o.value)) == 1) {
    o.number = l.floats(o.value, name)[0];
    o.value = kNone;
  }
  return o;
}

// One number per spatial dim: PyTorch takes [k] for [k, k].
inline std::vector<int64_t> spread(const Legalizer& l, std::string_view name, size_t dims, std::vector<int64_t> missing) {
  std::vector<int64_t> v = l.n.ints(name, missing);
  if (v.empty()) v = std::move(missing);
  if (v.size() == 1) v.resize(dims, v[0]);
  if (v.size() != dims)
    l.fail(Code::unsupported_use,
           "argument '" + std::string(name) + "' of " + l.n.aten + " needs " + std::to_string(dims) + " numbers");
  return v;
}

inline const Shape& result_shape(const Legalizer& l, size_t output = 0) { return l.shape(l.n.out[output]); }

// The value in another shape; itself where the shape is the same.
inline ValueId reshaped(Legalizer& l, ValueId v, Shape to) {
  if (l.shape(v) == to) return v;
  return l.emit("view", {v}, {{"shape", std::move(to)}});
}

// Leading dims of 1 until the rank is reached, as broadcasting adds them.
inline ValueId with_rank(Legalizer& l, ValueId v, size_t rank) {
  Shape s = l.shape(v);
  if (s.size() < rank) s.insert(s.begin(), rank - s.size(), 1);
  return reshaped(l, v, s);
}

// Stages for the table operator (ops/lut/op.cc lists them), two numbers each.
struct Stages {
  std::vector<std::string> fns;
  std::vector<double> args;
  Stages& add(std::string fn, double a = 0, double b = 0) {
    fns.push_back(std::move(fn)), args.push_back(a), args.push_back(b);
    return *this;
  }
  Stages& times(double factor) { return factor == 1 ? *this : add("mul_scalar", factor); }
  Stages& plus(double term) { return term == 0 ? *this : add("add_scalar", term); }
};

// f(x) by table; no stages: x itself. Broadcasting with a number can still raise the rank: the result has the ATen node's shape.
inline ValueId emit_stages(Legalizer& l, ValueId x, const Stages& s) {
  if (!s.fns.empty()) x = l.emit("lut", {x}, {{"fns", s.fns}, {"args", s.args}});
  return x;
}
inline void result_stages(Legalizer& l, ValueId x, const Stages& s) {
  l.result(reshaped(l, emit_stages(l, x, s), result_shape(l)));
}

// ---- the fused clamp: attrs clamp_lo, clamp_hi ----------------------------------------------------------------------------

// x clamped by `first`, then by `then`, as one clamp.
inline Clamp chained(Clamp first, Clamp then) {
  return {std::min(std::max(first.lo, then.lo), then.hi), std::min(std::max(first.hi, then.lo), then.hi)};
}
inline bool absorb_clamp_attrs(Graph&, Node& n, Clamp c) {
  const Clamp both = chained(clamp_of(n), c);
  if (std::isfinite(both.lo)) n.attrs["clamp_lo"] = both.lo;
  if (std::isfinite(both.hi)) n.attrs["clamp_hi"] = both.hi;
  return true;
}
inline void clamp_values(const Node& n, float* y, int64_t count) {
  if (!has_clamp(n)) return;
  const float lo = float(clamp_of(n).lo), hi = float(clamp_of(n).hi);
  for (int64_t i = 0; i < count; i++) y[i] = std::min(std::max(y[i], lo), hi);
}

// ---- shapes ---------------------------------------------------------------------------------------------------------------

inline bool is_nhwc(const Node& n) { return n.text("layout") == "nhwc"; }
inline std::vector<int64_t> strides_of(const Shape& s) {
  std::vector<int64_t> stride(s.size(), 1);
  for (size_t d = s.size(); d-- > 1;) stride[d - 1] = stride[d] * s[d];
  return stride;
}

// Equal ranks; dims of 1 stretch. Fails with both shapes in the message.
inline Shape broadcast_shape(const Graph& g, const Node& n) {
  const Shape &a = g[n.in[0]].shape, &b = g[n.in[1]].shape;
  Shape out = a;
  bool fits = a.size() == b.size();
  for (size_t d = 0; fits && d < a.size(); d++) {
    fits = a[d] == b[d] || a[d] == 1 || b[d] == 1;
    out[d] = a[d] == 1 ? b[d] : a[d];
  }
  if (!fits) fail(g, n, Code::unsupported_use, "shapes " + to_text(a) + " and " + to_text(b) + " do not broadcast");
  return out;
}

// Extents with one stride per operand for each; neighbours that every operand walks with one stride are merged.
struct Loops {
  std::vector<int64_t> extent, a, b;
};
inline Loops merged(const Shape& extent, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  Loops m;
  for (size_t d = 0; d < extent.size(); d++) {
    if (extent[d] == 1) continue;
    if (!m.extent.empty() && m.a.back() == a[d] * extent[d] && m.b.back() == b[d] * extent[d]) {
      m.extent.back() *= extent[d], m.a.back() = a[d], m.b.back() = b[d];
    } else {
      m.extent.push_back(extent[d]), m.a.push_back(a[d]), m.b.push_back(b[d]);
    }
  }
  if (m.extent.empty()) m = {{1}, {0}, {0}};
  return m;
}

// Calls row(offset in a, offset in b, index of the first element) for every innermost row.
template <class Row>
void each_row(const Loops& m, Row row) {
  const size_t last = m.extent.size() - 1;
  std::vector<int64_t> index(m.extent.size(), 0);
  int64_t at_a = 0, at_b = 0, rows = 1;
  for (size_t d = 0; d < last; d++) rows *= m.extent[d];
  for (int64_t r = 0; r < rows; r++) {
    row(at_a, at_b, r * m.extent[last]);
    for (size_t d = last; d-- > 0;) {
      at_a += m.a[d], at_b += m.b[d];
      if (++index[d] < m.extent[d]) break;
      at_a -= m.a[d] * m.extent[d], at_b -= m.b[d] * m.extent[d], index[d] = 0;
    }
  }
}

// out[i] = f(a, b) with PyTorch's broadcasting; equal ranks.
template <class F>
void broadcast_eval(const EvalArgs& e, F f) {
  const Shape& out = e.g[e.n.out[0]].shape;
  const auto strides = [&](ValueId v) {
    const Shape& s = e.g[v].shape;
    std::vector<int64_t> stride = strides_of(s);
    for (size_t d = 0; d < s.size(); d++)
      if (s[d] == 1) stride[d] = 0;
    return stride;
  };
  const Loops m = merged(out, strides(e.n.in[0]), strides(e.n.in[1]));
  const int64_t count = m.extent.back(), step_a = m.a.back(), step_b = m.b.back();
  each_row(m, [&](int64_t at_a, int64_t at_b, int64_t first) {
    const float *a = e.in[0] + at_a, *b = e.in[1] + at_b;
    float* y = e.out[0] + first;
    for (int64_t i = 0; i < count; i++) y[i] = f(a[i * step_a], b[i * step_b]);
  });
  clamp_values(e.n, e.out[0], elements(out));
}

// y, dense over extent, from x with any strides (in elements).
inline void copy_strided(const float* x, const Shape& extent, const std::vector<int64_t>& stride, float* y) {
  const Loops m = merged(extent, stride, stride);
  const int64_t count = m.extent.back(), step = m.a.back();
  each_row(m, [&](int64_t from, int64_t, int64_t to) {
    for (int64_t i = 0; i < count; i++) y[to + i] = x[from + i * step];
  });
}

// ---- permuting dims in attributes -----------------------------------------------------------------------------------------

// Where an old dim went: new dim i is old dim perm[i].
inline int64_t new_dim(const std::vector<int>& perm, int64_t old) {
  return std::find(perm.begin(), perm.end(), int(old)) - perm.begin();
}
inline void permute_dim(Node& n, const std::vector<int>& perm) { n.attrs["dim"] = new_dim(perm, n.integer("dim")); }

// For a node that drops some of operand 0's dims: the surviving old output dims in their new order.
inline void set_out_perm(Node& n, const std::vector<int>& perm, const std::vector<bool>& dropped) {
  std::vector<int64_t> old_output(perm.size(), 0), out_perm;
  int64_t next = 0;
  for (size_t d = 0; d < perm.size(); d++)
    if (!dropped[d]) old_output[d] = next++;
  for (int d : perm)
    if (!dropped[size_t(d)]) out_perm.push_back(old_output[size_t(d)]);
  n.attrs["out_perm"] = std::move(out_perm);
}

// ---- lowering -------------------------------------------------------------------------------------------------------------

// A condition with each side of its && noted: `Condition() && a && b`.
struct Condition {
  uint32_t sides = 0, failed = 0;  // failed: bit i for side i
  explicit operator bool() const { return failed == 0; }
};
inline Condition operator&&(Condition c, bool holds) {
  if (!holds) c.failed |= 1u << c.sides;
  c.sides++;
  return c;
}

// What kernels.def says about a row beside its name; op.cc expands each line to CORTEN_CHOICE, in the order of its KernelRows.
template <class Params>
struct Choice {
  Condition (*condition)(const Params&);
  uint32_t (*scratch)(const Params&);
};
#define CORTEN_CONDITION(Params, usable) []([[maybe_unused]] const Params& p) -> Condition { return Condition() && usable; }
#define CORTEN_SCRATCH(Params, bytes) []([[maybe_unused]] const Params& p) -> uint32_t { return uint32_t(bytes); }
#define CORTEN_CHOICE(Params, tier, fn, usable, scratch_bytes, packing) \
  {CORTEN_CONDITION(Params, usable), CORTEN_SCRATCH(Params, scratch_bytes)},

// The first usable row at or below the tier, put into `step` with what kept those before it from being taken; the last row takes
// everything.
template <class Params, class RowChoice, size_t N>
const RowChoice& choose(const KernelRow (&rows)[N], const RowChoice (&choices)[N], const LowerArgs& a, const Params& p,
                        const Facts& facts, Lowered& step) {
  for (size_t i = 0; i < N; i++) {
    if (rows[i].tier > a.tier) continue;
    const Condition c = choices[i].condition(p);
    if (c) {
      step.kernel = rows[i].function;
      step.scratch_bytes = choices[i].scratch(p);
      return choices[i];
    }
    SkippedRow skipped = {rows[i].function, rows[i].tier, rows[i].condition, {}};
    const std::vector<std::string_view> parts = parts_of(rows[i].condition);
    for (uint32_t k = 0; k < c.sides && k < parts.size(); k++)
      if (c.failed >> k & 1) skipped.unmet.push_back(unmet_term(op_of(a.n).terms, parts[k], facts));
    step.skipped.push_back(std::move(skipped));
  }
  throw std::logic_error(a.n.op + ": no kernel row takes this");
}

template <class Params, size_t N>
Lowered lowered(const KernelRow (&rows)[N], const Choice<Params> (&choices)[N], const LowerArgs& a, const Params& p,
                const Facts& facts = {}) {
  Lowered step;
  choose(rows, choices, a, p, facts, step);
  step.params = bytes_of(p);
  return step;
}

// The constants of an operator with weights, as the chosen row packs them.
template <class Params, class Packing, class Source>
void pack(Lowered& step, Params p, const Packing& packing, const Source& source) {
  p.weights_bytes = packing.weights_bytes(p), p.tables_bytes = packing.tables_bytes(p);
  Blob weights = {std::vector<uint8_t>(p.weights_bytes), offsetof(Params, weights)};
  Blob tables = {std::vector<uint8_t>(p.tables_bytes), offsetof(Params, tables)};
  packing.pack(p, source, weights.bytes.data(), tables.bytes.data());
  step.params = bytes_of(p);
  step.blobs = {std::move(weights), std::move(tables)};
}

// An int8 operand or result with one scale.
struct Scaled {
  double scale;
  int zero;
};
inline Scaled scaled(const LowerArgs& a, ValueId v) {
  const Quant& q = quant_of(a.g, v, a.n);
  if (q.scale.size() != 1)
    fail(a.g, a.n, Code::bad_scales, "value '" + a.g[v].name + "' has a scale per channel, which " + a.n.op + " does not take",
         "quantise it per tensor");
  return {q.scale[0], q.zero[0]};
}

// The node's fused clamp under its result's scale.
struct Bounds {
  int lo, hi;
};
inline Bounds bounds(const LowerArgs& a) {
  Bounds b = {};
  quantised_clamp(quant_of(a.g, a.n.out[0], a.n), clamp_of(a.n), b.lo, b.hi);
  return b;
}

inline std::vector<uint32_t> extents32(const LowerArgs& a, const Shape& s) {
  if (elements(s) > INT32_MAX)
    fail(a.g, a.n, Code::too_large, "a tensor of shape " + to_text(s) + " is too large",
         "tensors have to stay below 2^31 elements");
  return {s.begin(), s.end()};
}

// A size that the params hold in 16 bits.
inline uint16_t extent16(const LowerArgs& a, int64_t size, std::string_view what) {
  if (size < 0 || size > 65535)
    fail(a.g, a.n, Code::too_large, std::string(what) + " " + std::to_string(size) + " does not fit the kernels' limit of 65535",
         "use a smaller tensor, or split it");
  return uint16_t(size);
}

inline Broadcast broadcast_loops(const LowerArgs& a) {
  const Shape &sa = a.g[a.n.in[0]].shape, &sb = a.g[a.n.in[1]].shape;
  const std::vector<uint32_t> ea = extents32(a, sa), eb = extents32(a, sb);
  Broadcast loops;
  if (!make_broadcast(int32_t(ea.size()), ea.data(), int32_t(eb.size()), eb.data(), &loops))
    fail(a.g, a.n, Code::unsupported_use,
         "broadcasting " + to_text(sa) + " with " + to_text(sb) + " needs more than four nested loops",
         "reshape or expand one of them first");
  return loops;
}

// For operators that move bytes: operands and output share one scale by QuantRule; anything else is a compiler bug.
inline void same_scale(const LowerArgs& a) {
  const Scaled out = scaled(a, a.n.out[0]);
  for (ValueId v : a.n.in)
    if (v != kNone && (scaled(a, v).scale != out.scale || scaled(a, v).zero != out.zero))
      throw std::logic_error(a.n.name + ": operands and result of " + a.n.op + " have different scales");
}

}  // namespace corten
