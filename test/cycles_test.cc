// The cycle model on a handful of instructions whose costs are worked out by its rules.
#include "compiler/cycles.h"

#include <doctest/doctest.h>

#include "compiler/process.h"
#include "ir/diag.h"

using namespace corten;

// A function with a loop in a loop and a call, then the one it calls.
static const std::vector<Instruction> kCode = {
    {0x100, "f", "push", "{r4, r5, r6, lr}"},
    {0x102, "f", "ldr", "r4, [r0, #0]"},
    {0x104, "f", "ldr.w", "r5, [r0, #4]"},
    {0x108, "f", "mul.w", "r6, r4, r5"},
    {0x10c, "f", "dls", "lr, r6"},
    {0x110, "f", "vldrb.u8", "q0, [r1], #16"},
    {0x114, "f", "vldrb.u8", "q1, [r2], #16"},
    {0x118, "f", "vmladava.s8", "r3, q0, q1"},
    {0x11c, "f", "vldrw.u32", "q2, [r4, q3]"},
    {0x120, "f", "vadd.i32", "q4, q4, q2"},
    {0x124, "f", "le", "lr, 110 <f+0x10>"},
    {0x128, "f", "sdiv", "r3, r3, r5"},
    {0x12c, "f", "strd", "r3, r4, [r0, #8]"},
    {0x130, "f", "cmp", "r3, #0"},
    {0x132, "f", "bne.n", "102 <f+0x2>"},
    {0x134, "f", "bl", "200 <g>"},
    {0x138, "f", "pop", "{r4-r6, pc}"},
    {0x200, "g", "str", "r0, [r1, #0]"},
    {0x202, "g", "smull", "r0, r1, r2, r3"},
    {0x206, "g", "adds", "r0, r1, r2"},
    {0x208, "g", "vmov", "q1, q2"},
    {0x20c, "g", "bx", "lr"},
};

static Counts executions() {
  Counts counts;
  for (const Instruction& in : kCode)
    counts[in.address] = in.address == 0x100 || in.address >= 0x134 ? 1 : in.address >= 0x110 && in.address <= 0x124 ? 48 : 3;
  return counts;
}

TEST_CASE("cycles: the three pipelines") {
  CHECK(CycleModel(kCode, Pipeline::m0).cycles(executions()) == 344);
  CHECK(CycleModel(kCode, Pipeline::m4).cycles(executions()) == 512);
  CHECK(CycleModel(kCode, Pipeline::m55).cycles(executions()) == 452);
  CHECK(CycleModel(kCode, Pipeline::m55).cycles({}) == 0);
}

TEST_CASE("cycles: single instructions") {
  const auto cost = [](const char* mnemonic, const char* operands, Pipeline p) {
    return CycleModel({{0x10, "f", mnemonic, operands}}, p).cycles({{0x10, 1}});
  };
  CHECK(cost("adds", "r0, r1, r2", Pipeline::m0) == 1);
  CHECK(cost("ldr", "r0, [r1, #4]", Pipeline::m0) == 2);
  CHECK(cost("push", "{r4-r7, lr}", Pipeline::m0) == 6);
  CHECK(cost("bl", "200 <g>", Pipeline::m0) == 3);
  CHECK(cost("pop", "{r4, pc}", Pipeline::m4) == 5);
  CHECK(cost("udiv", "r0, r1, r2", Pipeline::m4) == 8);
  CHECK(cost("ldrd", "r0, r1, [r2]", Pipeline::m4) == 3);
  CHECK(cost("letp", "lr, 8 <f>", Pipeline::m55) == 0);
}

TEST_CASE("cycles: counts of a file, and files that are none") {
  TemporaryDirectory directory;
  write_text(directory.path() / "counts", "step\n100 2\n102 3\nrest\n200 18446744073709551615\n");
  const std::vector<Counts> blocks = read_counts(directory.path() / "counts");
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0] == Counts{{0x100, 2}, {0x102, 3}});
  CHECK(blocks[1].at(0x200) == UINT64_MAX);
  CHECK_THROWS_AS(read_counts(directory.path() / "no such file"), Error);
  CHECK_THROWS_AS(disassemble(directory.path() / "counts"), Error);
}
