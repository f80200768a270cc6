// Estimated cycles of what ran on an emulated board, from executions counted by address.
//
// The counts are exact; the cycles are a model with zero-wait memory, meant for ratios between programs and between kernels. It
// knows three pipelines; what is not named takes 1 cycle:
//   m0   Cortex-M0+ Technical Reference Manual, instruction set summary (zero-wait memory, single-cycle multiplier): loads and
//        stores 2; push, pop, ldm, stm 1 + registers; bl 1 more; a taken branch 1 more.
//   m4   Cortex-M4 Technical Reference Manual, instruction set summary: loads 2, 1 right behind another load or store (they
//        pipeline); stores 1 (write buffer); ldrd, strd 3; push, pop, ldm, stm 1 + registers; divides 8 (the manual: 2 to 12);
//        loads and stores of floats 2; a taken branch 2 more (the manual: 1 to 3).
//   m55  Cortex-M55 Software Optimization Guide, simplified: in order, one instruction a cycle. Vector loads and stores, vector
//        integer operations and vector multiplies have a unit each, which a 128-bit vector keeps busy for 2 cycles (dual beat);
//        units overlap. Results are there after: vmladav and its kin 3, vector multiplies, shifts by vectors, narrowing, widening
//        and vaddv 2, other vector operations 1, scalar loads and multiplies 2. Gathers and scatters keep their unit busy for 4.
//        le, letp: free; sdiv, udiv 6; push, pop, ldm, stm 1 + pairs of registers; a taken branch 2 more. Loops are costed in their
//        steady state: their body went through once before it counts.
// Not modelled: wait states of flash, caches, unaligned access, dual issue (M7, M85).
//
// A branch was taken as often as it ran and the instruction behind it did not. Figures of several runs therefore add up only
// nearly.
#pragma once
#include <stdint.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compiler/target.h"

namespace corten {

using Counts = std::map<uint32_t, uint64_t>;  // executions by address

// What tools/qemu_count.c wrote: one block for each "step" or "rest". Throws Error.
std::vector<Counts> read_counts(const std::filesystem::path&);

struct Instruction {
  uint32_t address = 0;
  std::string function, mnemonic, operands;
};
// All code of an ELF file, by arm-none-eabi-objdump. Throws Error.
std::vector<Instruction> disassemble(const std::filesystem::path& elf);

class CycleModel {
 public:
  CycleModel(const std::filesystem::path& elf, Pipeline pipeline) : CycleModel(disassemble(elf), pipeline) {}
  CycleModel(const std::vector<Instruction>&, Pipeline);
  uint64_t cycles(const Counts&) const;

 private:
  struct Cost {
    uint32_t address, cycles;
    bool branch, always;  // always: an unconditional branch
  };
  std::vector<Cost> costs_;
  uint64_t taken_penalty_;
};

}  // namespace corten
