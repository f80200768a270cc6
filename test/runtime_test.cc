// The runtime on the host: a right image runs and equals the reference, a wrong one is a Status.
#include <doctest/doctest.h>
#include <string.h>

#include "compiler/emit.h"
#include "compiler/program_file.h"
#include "runtime/program.h"
#include "test/tiny_plan.h"

namespace corten {
extern "C" {
void conv2d_s8_scalar(const KernelArgs*);
bool conv2d_s8_scalar_check(const CheckArgs*);
void linear_s8_scalar(const KernelArgs*);
bool linear_s8_scalar_check(const CheckArgs*);
}
}  // namespace corten
using namespace corten;
using namespace corten::test;

// Not in the image's order, and with an entry it does not use.
static const KernelEntry kKernels[] = {{1, nullptr, nullptr},
                                       {kernel_id("linear_s8_scalar"), linear_s8_scalar, linear_s8_scalar_check},
                                       {kernel_id("conv2d_s8_scalar"), conv2d_s8_scalar, conv2d_s8_scalar_check}};

// An image and an arena of exactly their sizes, on 16 bytes, so that sanitizers see every byte outside.
struct Loaded {
  std::shared_ptr<uint8_t[]> image, arena;
  Model model;
  Status status;
  explicit Loaded(const std::vector<uint8_t>& bytes, uint32_t arena_bytes = 416, uint32_t kernels = 3)
      : image(aligned_bytes(bytes.size())), arena(aligned_bytes(arena_bytes)) {
    if (!bytes.empty()) memcpy(image.get(), bytes.data(), bytes.size());
    status = model.init(image.get(), bytes.size(), kKernels, kernels, arena.get(), arena_bytes);
  }
};

static std::vector<uint8_t> run(Model& model, const std::vector<uint8_t>& x) {
  memcpy(model.input(0).data, x.data(), x.size());
  CHECK(model.run() == CORTEN_OK);
  const DeviceTensor y = model.output(0);
  const uint8_t* data = static_cast<const uint8_t*>(y.data);
  return {data, data + y.bytes};
}

TEST_CASE("runtime: a model runs and equals the reference") {
  TinyPlan tiny;
  Loaded m(emit_image(tiny.plan));
  REQUIRE(m.status == CORTEN_OK);
  for (uint32_t seed = 1; seed < 6; seed++) {
    const std::vector<uint8_t> x = tiny.input(seed);
    CHECK(run(m.model, x) == tiny.reference(x));
  }
  CHECK(m.model.reset_state() == CORTEN_OK);
}

TEST_CASE("runtime: tensors say what they are") {
  Loaded m(emit_image(TinyPlan().plan));
  REQUIRE(m.model.inputs() == 1);
  REQUIRE(m.model.outputs() == 1);
  const DeviceTensor x = m.model.input(0);
  CHECK(std::string(x.name) == "x");
  CHECK(x.type == CORTEN_INT8);
  REQUIRE(x.rank == 4);
  CHECK(x.shape[1] == 3);
  CHECK(x.dims[1] == 6);
  CHECK(x.dims[3] == 3);
  CHECK(x.scale == 0.05f);
  CHECK(x.zero == 4);
  CHECK(m.model.input(1).data == nullptr);
  CHECK(m.model.output(1).data == nullptr);
  corten_tensor t;
  CHECK(corten_input(&m.model.state(), 1, &t) == CORTEN_BAD_ARGUMENT);
}

TEST_CASE("runtime: calls before init, null pointers, alignment") {
  const std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  Model model;
  CHECK(model.run() == CORTEN_NOT_READY);
  CHECK(model.reset_state() == CORTEN_NOT_READY);
  CHECK(model.inputs() == 0);
  CHECK(corten_run(nullptr) == CORTEN_BAD_ARGUMENT);
  Loaded m(image);
  auto wide = aligned_bytes(image.size() + 16);
  memcpy(wide.get() + 4, image.data(), image.size());
  CHECK(model.init(wide.get() + 4, image.size(), kKernels, 3, m.arena.get(), 416) == CORTEN_BAD_ALIGNMENT);
  CHECK(model.init(m.image.get(), image.size(), kKernels, 3, m.arena.get() + 8, 500) == CORTEN_BAD_ALIGNMENT);
  CHECK(model.init(m.image.get(), image.size(), kKernels, 3, nullptr, 416) == CORTEN_BAD_ARGUMENT);
  CHECK(model.init(nullptr, image.size(), kKernels, 3, m.arena.get(), 416) == CORTEN_BAD_ARGUMENT);
  CHECK(model.run() == CORTEN_NOT_READY);
}

TEST_CASE("runtime: an arena one byte short is refused with both sizes") {
  Loaded m(emit_image(TinyPlan().plan), 415);
  CHECK(m.status == CORTEN_ARENA_TOO_SMALL);
  CHECK(m.model.arena_needed() == 416);
  CHECK(m.model.arena_given() == 415);
  CHECK(m.model.run() == CORTEN_NOT_READY);
}

TEST_CASE("runtime: a kernel that is not in the table") {
  CHECK(Loaded(emit_image(TinyPlan().plan), 416, 2).status == CORTEN_NO_KERNEL);
}

TEST_CASE("runtime: the host runs images of every tier, and none beyond") {
  TinyPlan tiny(Tier::mve);
  std::vector<uint8_t> image = emit_image(tiny.plan);
  CHECK(Loaded(image).status == CORTEN_OK);
  image[offsetof(ImageHeader, tier)] = 3;
  seal_image(image);
  CHECK(Loaded(image).status == CORTEN_BAD_TIER);
}

TEST_CASE("runtime: another version, other bytes") {
  std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  image[offsetof(ImageHeader, version)]++;
  seal_image(image);
  CHECK(Loaded(image).status == CORTEN_BAD_VERSION);
  CHECK(Loaded(std::vector<uint8_t>(1000, 0x42)).status == CORTEN_BAD_MAGIC);
}

TEST_CASE("runtime: every truncation is refused") {
  const std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  for (size_t n = 0; n < image.size(); n++) {
    const Status status = Loaded({image.begin(), image.begin() + long(n)}).status;
    CHECK_MESSAGE(status == CORTEN_BAD_SIZE, n << " bytes");
  }
}

TEST_CASE("runtime: every single-byte flip is refused") {
  const std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  for (size_t i = 0; i < image.size(); i++)
    for (int mask : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> wrong = image;
      wrong[i] = uint8_t(wrong[i] ^ mask);
      if (Loaded(wrong).status == CORTEN_OK) FAIL("byte " << i << " flipped with " << mask << " is accepted");
    }
}

// Kernels with the checks of the real ones, that read and write every byte a check has promised and do no arithmetic on them:
// what a wrong bias or shift computes is no matter of bounds.
static volatile uint8_t g_sink;
static void touch(const uint8_t* from, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i++) g_sink = from[i];
}
static void touch_conv(const KernelArgs* a) {
  const ConvParams& p = *static_cast<const ConvParams*>(a->params);
  touch(a->image + p.weights, p.weights_bytes), touch(a->image + p.tables, p.tables_bytes);
  touch(static_cast<const uint8_t*>(a->operand[0]), uint32_t(p.n) * p.in_h * p.in_w * p.in_c);
  memset(a->operand[1], 0x22, size_t(p.n) * p.out_h * p.out_w * p.out_c);
}
static void touch_linear(const KernelArgs* a) {
  const LinearParams& p = *static_cast<const LinearParams*>(a->params);
  touch(a->image + p.weights, p.weights_bytes), touch(a->image + p.tables, p.tables_bytes);
  touch(static_cast<const uint8_t*>(a->operand[0]), p.rows * p.in);
  memset(a->operand[1], 0x22, size_t(p.rows) * p.out);
}
static const KernelEntry kTouchers[] = {{kernel_id("linear_s8_scalar"), touch_linear, linear_s8_scalar_check},
                                        {kernel_id("conv2d_s8_scalar"), touch_conv, conv2d_s8_scalar_check}};

// With the CRC made right again the structure itself must hold: refused, or run in bounds (the sanitizers judge). The image is
// copied after a run: nothing may have written to it.
TEST_CASE("runtime: flips under a right CRC are refused or stay in bounds") {
  const std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  int refused = 0, ran = 0;
  for (size_t i = 0; i < image.size(); i++)
    for (int mask : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff, 0x55}) {
      std::vector<uint8_t> wrong = image;
      wrong[i] = uint8_t(wrong[i] ^ mask);
      seal_image(wrong);
      Loaded m(wrong);
      m.status = m.model.init(m.image.get(), wrong.size(), kTouchers, 2, m.arena.get(), 416);
      if (m.status != CORTEN_OK) {
        refused++;
        continue;
      }
      ran++;
      for (uint32_t k = 0; k < m.model.inputs(); k++) memset(m.model.input(k).data, 0x11, m.model.input(k).bytes);
      m.model.run();
      for (uint32_t k = 0; k < m.model.outputs(); k++) {
        const DeviceTensor out = m.model.output(k);
        for (uint32_t b = 0; b < out.bytes; b++) g_sink = static_cast<const uint8_t*>(out.data)[b];
        g_sink = uint8_t(strlen(out.name));
      }
      if (memcmp(m.image.get(), wrong.data(), wrong.size())) FAIL("byte " << i << ": the image was written to");
    }
  MESSAGE(refused << " refused, " << ran << " ran");
  CHECK(refused > 1000);
}

TEST_CASE("runtime: the tracer sees every step") {
  Loaded m(emit_image(TinyPlan().plan));
  std::vector<uint32_t> seen;
  m.model.state().tracer = [](void* context, const corten_model*, uint32_t step) {
    static_cast<std::vector<uint32_t>*>(context)->push_back(step);
  };
  m.model.state().tracer_context = &seen;
  run(m.model, TinyPlan().input(1));
  CHECK(seen == std::vector<uint32_t>{0, 1});
}

TEST_CASE("runtime: two models take turns in one arena") {
  TinyPlan one(Tier::scalar), two(Tier::scalar);
  two.conv.hi = 40, two.linear.lo = -7;
  memcpy(two.plan.steps[0].lowered.params.data(), &two.conv, sizeof two.conv);
  memcpy(two.plan.steps[1].lowered.params.data(), &two.linear, sizeof two.linear);
  Loaded a(emit_image(one.plan)), b(emit_image(two.plan));
  Model second;
  REQUIRE(second.init(b.image.get(), emit_image(two.plan).size(), kKernels, 3, a.arena.get(), 416) == CORTEN_OK);
  for (uint32_t seed = 1; seed < 4; seed++) {
    const std::vector<uint8_t> x = one.input(seed);
    CHECK(run(a.model, x) == one.reference(x));
    CHECK(run(second, x) == two.reference(x));
  }
}

TEST_CASE("runtime: state tensors get their start values") {
  // Made by hand: the image of the tiny model, with a state table put over the strings of a copy.
  std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  ImageHeader h;
  memcpy(&h, image.data(), sizeof h);
  const uint32_t table = uint32_t(image.size());
  const ImageState state = {place(Memory::arena, 112), 5, h.strings};
  image.resize(image.size() + 16);
  memcpy(image.data() + table, &state, sizeof state);
  h.states = 1, h.state_table = table, h.image_bytes = uint32_t(image.size());
  memcpy(image.data(), &h, sizeof h);
  seal_image(image);
  Loaded m(image);
  REQUIRE(m.status == CORTEN_OK);
  CHECK(memcmp(m.arena.get() + 112, image.data() + h.strings, 5) == 0);
  m.arena[112] = 0;
  m.model.reset_state();
  CHECK(memcmp(m.arena.get() + 112, image.data() + h.strings, 5) == 0);
}
