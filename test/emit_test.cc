// Image and firmware unit, and the image read back on the host.
#include <doctest/doctest.h>
#include <math.h>
#include <string.h>

#include <algorithm>

#include "compiler/emit.h"
#include "compiler/program_file.h"
#include "runtime/program.h"
#include "test/tiny_plan.h"

using namespace corten;
using namespace corten::test;

TEST_CASE("emit: identical constants are stored once") {
  TinyPlan tiny;
  const size_t once = emit_image(tiny.plan).size();
  PlannedStep again = tiny.plan.steps[1];
  again.operands = {{false, 112, 288}, {false, 400, 10}};
  tiny.plan.steps.push_back(again);
  const size_t twice = emit_image(tiny.plan).size();
  CHECK(twice - once < 150);  // a step, its operands and params, but no weights
}

TEST_CASE("emit: constant operands lie in the image") {
  TinyPlan tiny;
  const std::vector<uint8_t> x = tiny.input(9);
  tiny.plan.constants = {x};
  tiny.plan.steps[0].operands[0] = {true, 0, 108};
  const Program p = Program::from_bytes(emit_image(tiny.plan));
  CHECK(p.run({std::vector<uint8_t>(108)})[0] == tiny.reference(x));
}

TEST_CASE("emit: too many operands are an error, not an image") {
  TinyPlan tiny;
  tiny.plan.steps[0].operands.resize(33);
  CHECK_THROWS_AS(emit_image(tiny.plan), Error);
}

TEST_CASE("emit: steps without a kernel are left out") {
  TinyPlan tiny;
  PlannedStep alias;
  alias.node = "flatten", alias.operands = {{false, 112, 288}, {false, 112, 288}};
  tiny.plan.steps.insert(tiny.plan.steps.begin() + 1, alias);
  CHECK(Program::from_bytes(emit_image(tiny.plan)).steps().size() == 2);
}

TEST_CASE("emit: the firmware unit names what it needs") {
  const std::vector<uint8_t> image = emit_image(TinyPlan(Tier::mve, "cortex-m55").plan);
  const std::string header = emit_header(image), source = emit_source(image);
  for (const char* text :
       {"cortex-m55", "#define TINY_ARENA_BYTES 416u", "N = 1, H = 6, W = 6, C = 3", "in PyTorch (1, 3, 6, 6)",
        "kScale = 0.0500000007f", "kZero = 4", "N = 1, F = 10", "tiny_init", "namespace input0", ".corten.image"})
    CHECK_MESSAGE(header.find(text) != std::string::npos, text);
  for (const char* text : {"void conv2d_s8_scalar(", "bool linear_s8_scalar_check(", "0x4e545243"})
    CHECK_MESSAGE(source.find(text) != std::string::npos, text);
}

TEST_CASE("emit: a kernel's name in the image is no way into the source") {
  std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  const std::string name = "linear_s8_scalar";
  const auto at = std::search(image.begin(), image.end(), name.begin(), name.end());
  REQUIRE(at != image.end());
  *at = 'L';
  CHECK_THROWS_AS(emit_source(image), Error);
}

TEST_CASE("program: read back, run, many threads") {
  TinyPlan tiny(Tier::dsp, "cortex-m4");
  const Program p = Program::from_bytes(emit_image(tiny.plan));
  CHECK(p.name() == "tiny");
  CHECK(p.target() == "cortex-m4");
  CHECK(p.tier() == Tier::dsp);
  CHECK(p.arena_bytes() == 416);
  REQUIRE(p.steps().size() == 2);
  CHECK(p.steps()[1].node == "fc");
  CHECK(p.steps()[1].kernel == "linear_s8_scalar");
  REQUIRE(p.inputs().size() == 1);
  CHECK(p.inputs()[0].scale == 0.05);
  std::vector<Sample> samples;
  for (uint32_t i = 0; i < 20; i++) samples.push_back({tiny.input(i)});
  const std::vector<Sample> out = p.run_all(samples, 3);
  for (size_t i = 0; i < samples.size(); i++) CHECK(out[i][0] == tiny.reference(samples[i][0]));
  CHECK_THROWS_AS(p.run({}), Error);
  CHECK_THROWS_AS(p.run({std::vector<uint8_t>(107)}), Error);
}

TEST_CASE("program: a refused image says why") {
  std::vector<uint8_t> image = emit_image(TinyPlan().plan);
  image[200] ^= 1;
  try {
    Program::from_bytes(image, "x.corten");
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.diag.message == "the runtime refuses this image: CORTEN_BAD_CRC");
    CHECK(e.diag.subject == "x.corten");
  }
  CHECK_THROWS_AS(Program::load("/nonexistent.corten"), Error);
}

TEST_CASE("program: PyTorch's order and the device's") {
  IoInfo io;
  io.shape = {1, 2, 2, 3}, io.perm = {0, 2, 3, 1}, io.scale = 0.5, io.zero = 1, io.bytes = 12;
  std::vector<float> x(12);
  for (int i = 0; i < 12; i++) x[size_t(i)] = float(i);
  const std::vector<uint8_t> device = to_device(io, x);
  // element (h, w, c) of the device is (c, h, w) of PyTorch
  for (int h = 0; h < 2; h++)
    for (int w = 0; w < 3; w++)
      for (int c = 0; c < 2; c++) CHECK(int8_t(device[size_t((h * 3 + w) * 2 + c)]) == (c * 6 + h * 3 + w) * 2 + 1);
  CHECK(dequantised(io, device) == x);
  CHECK(int8_t(to_torch_order(io, device)[7]) == 15);
}

TEST_CASE("program: quantising rounds half to even and saturates") {
  IoInfo io;
  io.shape = {6}, io.perm = {0}, io.scale = 1, io.zero = 1, io.bytes = 6;
  const std::vector<float> x = {0.5f, 1.5f, -0.5f, 1000.f, -1000.f, NAN};
  const std::vector<uint8_t> q = to_device(io, x);
  const std::vector<int> want = {1, 3, 1, 127, -128, -128};
  for (size_t i = 0; i < 6; i++) CHECK(int8_t(q[i]) == want[i]);
}

TEST_CASE("program: float inputs keep their bits") {
  IoInfo io;
  io.dtype = DType::f32, io.shape = {2, 2}, io.perm = {1, 0}, io.bytes = 16;
  const std::vector<float> x = {1.f, 2.f, 3.f, 4.f};
  const std::vector<uint8_t> device = to_device(io, x);
  float v[4];
  memcpy(v, device.data(), 16);
  CHECK(v[1] == 3.f);
  CHECK(dequantised(io, device) == x);
}
