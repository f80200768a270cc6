// pad: more elements before and after each dim. Attributes: mode ("constant", "reflect", "replicate", "circular"), value, before
// and after (one number per dim; negative ones crop, where the mode is constant).
#include "ops/legal.h"
#include "ops/pad/constants.h"

namespace corten {

#define KERNEL CORTEN_DECLARE_KERNEL
#include "ops/pad/kernels.def"
#undef KERNEL

namespace {

constexpr KernelRow kRows[] = {
#define KERNEL CORTEN_KERNEL_ROW
#include "ops/pad/kernels.def"
#undef KERNEL
};
constexpr Choice<PadParams> kChoices[] = {
#define KERNEL(...) CORTEN_CHOICE(PadParams, __VA_ARGS__)
#include "ops/pad/kernels.def"
#undef KERNEL
};

int mode_of(std::string_view name) {
  constexpr std::pair<std::string_view, PadMode> kModes[] = {
      {"constant", kPadConstant}, {"reflect", kPadReflect}, {"replicate", kPadReplicate}, {"circular", kPadCircular}};
  for (const auto& [known, mode] : kModes)
    if (known == name) return mode;
  return -1;
}

// ---- claims ---------------------------------------------------------------------------------------------------------------

// PyTorch lists pads from the last dim inwards: before, after, before, after ...
void emit_pad(Legalizer& l, const std::string& mode, const std::vector<int64_t>& pads, double value) {
  const ValueId x = l.optional_tensor("self") != kNone ? l.tensor("self") : l.tensor("input");
  const size_t rank = l.shape(x).size();
  if (pads.size() % 2 || pads.size() / 2 > rank)
    l.fail(Code::unsupported_use, "padding " + to_text(pads) + " does not fit a tensor of shape " + to_text(l.shape(x)));
  if (mode_of(mode) < 0)
    l.fail(Code::unsupported_use, "padding mode '" + mode + "' is not supported", "use constant, reflect, replicate or circular");
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  bool any = false;
  for (size_t i = 0; i < pads.size() / 2; i++) {
    before[rank - 1 - i] = pads[2 * i], after[rank - 1 - i] = pads[2 * i + 1];
    any = any || pads[2 * i] != 0 || pads[2 * i + 1] != 0;
  }
  if (!any) return l.result(x);
  l.result(l.emit("pad", {x}, {{"mode", mode}, {"value", value}, {"before", before}, {"after", after}}));
}

void pad(Legalizer& l) { emit_pad(l, l.n.text("mode", "constant"), l.n.ints("pad"), l.n.real("value", 0)); }
void reflect(Legalizer& l) { emit_pad(l, "reflect", l.n.ints("padding"), 0); }
void replicate(Legalizer& l) { emit_pad(l, "replicate", l.n.ints("padding"), 0); }

constexpr Claim kClaims[] = {
    {"aten.pad.default", pad},
    {"aten.constant_pad_nd.default", pad},
    {"aten.reflection_pad1d.default", reflect},
    {"aten.reflection_pad2d.default", reflect},
    {"aten.replication_pad1d.default", replicate},
    {"aten.replication_pad2d.default", replicate},
};

// ---- the operator -----------------------------------------------------------------------------------------------------------

void infer(Graph& g, Node& n) {
  Shape s = g[n.in[0]].shape;
  const int mode = mode_of(n.text("mode", "constant"));
  const std::vector<int64_t> before = n.ints("before"), after = n.ints("after");
  bool fits = mode >= 0 && before.size() == s.size() && after.size() == s.size();
  for (size_t d = 0; fits && d < s.size(); d++) {
    const int64_t most = std::max(before[d], after[d]), least = std::min(before[d], after[d]);
    if (mode == kPadReflect) fits = most < s[d] || most == 0;
    if (mode == kPadCircular) fits = most <= s[d];
    if (mode != kPadConstant && least < 0) fits = false;
    s[d] += before[d] + after[d];
    fits = fits && s[d] > 0;
  }
  if (!fits)
    fail(g, n, Code::unsupported_use,
         "padding " + to_text(before) + " before and " + to_text(after) + " after is not possible for a tensor of shape " +
             to_text(g[n.in[0]].shape) + " in mode " + n.text("mode", "constant"));
  g[n.out[0]].shape = s;
}

// One output row (last dim) at a time; source[d][i] is where position i of dim d comes from, -1: the constant.
void eval(const EvalArgs& e) {
  const Shape &in = e.g[e.n.in[0]].shape, &out = e.g[e.n.out[0]].shape;
  const std::vector<int64_t> before = e.n.ints("before"), stride = strides_of(in);
  const uint8_t mode = uint8_t(mode_of(e.n.text("mode", "constant")));
  std::vector<std::vector<int64_t>> source(out.size());
  for (size_t d = 0; d < out.size(); d++)
    for (int64_t i = 0; i < out[d]; i++) {
      const int32_t from = pad_source(mode, int32_t(i - before[d]), int32_t(in[d]));
      source[d].push_back(from < 0 ? -1 : from * stride[d]);
    }
  std::vector<int64_t> index(out.size(), 0);
  const float value = float(e.n.real("value", 0));
  const size_t last = out.size() - 1;
  for (int64_t at = 0; at < elements(out); at += out[last]) {
    int64_t row = 0;
    for (size_t d = 0; d < last && row >= 0; d++) row = source[d][size_t(index[d])] < 0 ? -1 : row + source[d][size_t(index[d])];
    for (int64_t i = 0; i < out[last]; i++) {
      const int64_t from = source[last][size_t(i)];
      e.out[0][at + i] = row < 0 || from < 0 ? value : e.in[0][row + from];
    }
    for (size_t d = last; d-- > 0;) {
      if (++index[d] < out[d]) break;
      index[d] = 0;
    }
  }
}

Lowered lower(const LowerArgs& a) {
  same_scale(a);
  const Shape& in = a.g[a.n.in[0]].shape;
  const std::vector<uint32_t> shape = extents32(a, in);
  const std::vector<int64_t> before = a.n.ints("before"), after = a.n.ints("after");
  const std::vector<int32_t> before32(before.begin(), before.end()), after32(after.begin(), after.end());
  const int32_t value = quantise_value(a.n.real("value", 0), quant_of(a.g, a.n.out[0], a.n));
  const int mode = mode_of(a.n.text("mode", "constant"));
  PadParams p = {};
  if (!make_pad(int32_t(in.size()), shape.data(), before32.data(), after32.data(), uint8_t(mode), int8_t(value), &p))
    fail(a.g, a.n, Code::unsupported_use, "padding " + to_text(in) + " needs more than six nested loops", "pad in two steps");
  return lowered(kRows, kChoices, a, p);
}

void permute(Node& n, const std::vector<int>& perm) {
  const std::vector<int64_t> before = n.ints("before"), after = n.ints("after");
  std::vector<int64_t> new_before, new_after;
  for (int d : perm) new_before.push_back(before[size_t(d)]), new_after.push_back(after[size_t(d)]);
  n.attrs["before"] = std::move(new_before), n.attrs["after"] = std::move(new_after);
}

std::optional<Padding> as_padding(const Graph&, const Node& n) {
  const Padding p = {n.ints("before"), n.ints("after")};
  const auto crops = [](const std::vector<int64_t>& v) { return std::any_of(v.begin(), v.end(), [](int64_t x) { return x < 0; }); };
  if (n.text("mode", "constant") != "constant" || n.real("value", 0) != 0 || crops(p.before) || crops(p.after)) return std::nullopt;
  return p;
}

bool absorb_padding(Graph& g, Node& n, const Padding& first) {
  if (!as_padding(g, n)) return false;
  std::vector<int64_t> before = n.ints("before"), after = n.ints("after");
  if (first.before.size() != before.size()) return false;
  for (size_t d = 0; d < before.size(); d++) before[d] += first.before[d], after[d] += first.after[d];
  n.attrs["before"] = std::move(before), n.attrs["after"] = std::move(after);
  return true;
}

}  // namespace

extern const Op op_pad;
const Op op_pad = {
    .name = "pad",
    .claims = kClaims,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .layout = LayoutRule::elementwise,
    .quant = QuantRule::same,
    .permute = permute,
    .kernels = kRows,
    .as_padding = as_padding,
    .absorb_padding = absorb_padding,
};

}  // namespace corten
