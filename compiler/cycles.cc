#include "compiler/cycles.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "compiler/process.h"
#include "ir/diag.h"

namespace corten {
namespace {

using Words = std::vector<std::string_view>;
using Prefixes = std::initializer_list<std::string_view>;

constexpr const char* kDisassembler = "arm-none-eabi-objdump";
constexpr int kDisassembleSeconds = 120;
constexpr size_t kLongestLoop = 1500;  // instructions; a branch further back is no loop

bool starts_with(std::string_view text, Prefixes prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return text.starts_with(p); });
}

bool is_one_of(std::string_view text, Prefixes words) { return std::find(words.begin(), words.end(), text) != words.end(); }

bool is_word_character(char c) { return isalnum(uint8_t(c)) || c == '_'; }

bool all_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return isdigit(uint8_t(c)); });
}

// "vldrw.u32" without its type.
std::string_view base_of(std::string_view mnemonic) { return mnemonic.substr(0, mnemonic.find('.')); }

Words words_of(std::string_view text) {
  Words words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word_character(text[end])) end++;
    if (end > i) words.push_back(text.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

bool is_register(std::string_view word) {
  if (is_one_of(word, {"lr", "ip", "sl", "fp", "vpr", "p0"})) return true;
  const std::string_view number = word.substr(1);
  return all_digits(number) && (word[0] == 'r' || (word[0] == 'q' && number.size() == 1));
}

Words registers_of(std::string_view operands) {
  Words registers = words_of(operands);
  std::erase_if(registers, [](std::string_view w) { return !is_register(w); });
  return registers;
}

Words rest_of(const Words& words, size_t from) { return {words.begin() + long(std::min(from, words.size())), words.end()}; }
Words first_of(const Words& words, size_t n) { return {words.begin(), words.begin() + long(std::min(n, words.size()))}; }

int register_number(std::string_view name) {
  static constexpr std::pair<std::string_view, int> kNamed[] = {{"sl", 10}, {"fp", 11}, {"ip", 12},
                                                                {"sp", 13}, {"lr", 14}, {"pc", 15}};
  for (const auto& [known, number] : kNamed)
    if (name == known) return number;
  int number = 0;
  for (char c : name)
    if (isdigit(uint8_t(c))) number = number * 10 + (c - '0');
  return number;
}

// Registers in "{r4, r6-r9, lr}"; 1 without a list.
uint32_t list_length(std::string_view operands) {
  const size_t open = operands.find('{'), close = operands.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return 1;
  std::string_view list = operands.substr(open + 1, close - open - 1);
  int length = 0;
  for (size_t comma = 0; comma != std::string_view::npos; list.remove_prefix(comma == std::string_view::npos ? 0 : comma + 1)) {
    comma = list.find(',');
    const Words ends = words_of(list.substr(0, comma));
    if (!ends.empty()) length += register_number(ends.back()) - register_number(ends.front()) + 1;
  }
  return uint32_t(std::max(length, 0));
}

bool is_block_transfer(std::string_view mnemonic) { return starts_with(mnemonic, {"ldm", "stm", "push", "pop"}); }
bool is_load_store(std::string_view mnemonic) { return starts_with(mnemonic, {"ldr", "str"}); }
bool is_loop_end(std::string_view mnemonic) { return is_one_of(base_of(mnemonic), {"le", "letp"}); }

bool is_vector(const Instruction& in) {
  if (!in.mnemonic.starts_with('v')) return false;
  const Words words = words_of(in.operands);
  return std::any_of(words.begin(), words.end(),
                     [](std::string_view w) { return w.size() > 1 && w[0] == 'q' && isdigit(uint8_t(w[1])); });
}

struct Branch {
  bool any = false, always = false;
};

Branch branch_of(const Instruction& in) {
  if (starts_with(in.mnemonic, {"pop", "ldm"}) && in.operands.find("pc") != std::string::npos) return {true, true};
  std::string_view name = in.mnemonic;
  if (name.ends_with(".n") || name.ends_with(".w")) name.remove_suffix(2);
  if (is_one_of(name, {"b", "bl", "blx", "bx", "tbb", "tbh"})) return {true, true};
  if (is_one_of(name, {"cbz", "cbnz"})) return {true, false};
  const bool conditional =
      name.size() == 3 && name[0] == 'b' &&
      is_one_of(name.substr(1), {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "hs", "lo"});
  return {conditional, false};
}

// The address in "r3, 1f4 <name+0x12>"; false if there is none.
bool branch_target(std::string_view operands, uint32_t* address) {
  const size_t at = operands.find(" <");
  if (at == std::string_view::npos) return false;
  size_t from = at;
  while (from > 0 && isxdigit(uint8_t(operands[from - 1]))) from--;
  if (from == at || (from > 0 && is_word_character(operands[from - 1]))) return false;
  *address = uint32_t(strtoul(std::string(operands.substr(from, at - from)).c_str(), nullptr, 16));
  return true;
}

// ---- m55 ----------------------------------------------------------------------------------------------------------------------

enum class Unit { none, scalar, load_store, integer, multiply };

// How an instruction goes through the pipeline.
struct Timing {
  Unit unit = Unit::scalar;
  int busy = 1, latency = 1;  // cycles of the unit, cycles until the result can be read
  Words writes, reads;
  bool vector = false;
  bool free() const { return unit == Unit::none && busy == 0; }
};

bool is_gather(std::string_view operands) {
  const size_t bracket = operands.find('[');
  if (bracket == std::string_view::npos) return false;
  const std::string_view address = operands.substr(bracket + 1);
  return address.substr(0, address.find('[')).find(", q") != std::string_view::npos;
}

Timing vector_timing(const Instruction& in, const Words& r) {
  const std::string_view mn = in.mnemonic;
  if (starts_with(mn, {"vldr", "vstr", "vld2", "vld4", "vst2", "vst4"})) {
    const int busy = is_gather(in.operands) ? 4 : 2;
    if (mn.starts_with("vld")) return {Unit::load_store, busy, 1, first_of(r, 1), rest_of(r, 1), true};
    return {Unit::load_store, busy, 0, {}, r, true};
  }
  if (mn.starts_with("vmov") && !starts_with(mn, {"vmovl", "vmovn"})) return {Unit::none, 1, 1, first_of(r, 1), r, true};
  if (starts_with(mn, {"vmladav", "vmlav", "vmlsdav", "vmlaldav", "vrmlald"}))
    return {Unit::multiply, 2, 3, first_of(r, 1), r, true};
  if (mn.starts_with("vaddv")) return {Unit::integer, 2, 2, first_of(r, 1), r, true};
  if (starts_with(mn, {"vmul", "vmla", "vmls", "vqdm", "vqrdm", "vrmla", "vrmulh", "vfma"}))
    return {Unit::multiply, 2, 2, first_of(r, 1), r, true};
  const bool slow =
      starts_with(mn, {"vrshl", "vrshr", "vshrn", "vrshrn", "vqshr", "vqrshr", "vshll", "vmovl", "vqmov", "vmovn", "vsli", "vsri"});
  return {Unit::integer, 2, slow ? 2 : 1, first_of(r, 1), r.size() > 1 ? rest_of(r, 1) : r, true};
}

Timing m55_timing(const Instruction& in) {
  const std::string_view mn = in.mnemonic;
  const Words r = registers_of(in.operands);
  if (is_loop_end(mn)) return {Unit::none, 0, 0, {}, {}};
  if (is_vector(in)) return vector_timing(in, r);
  if (is_block_transfer(mn)) return {Unit::load_store, int(1 + (list_length(in.operands) + 1) / 2), 1, {}, {}};
  if (mn.starts_with("ldrd")) return {Unit::load_store, 1, 2, first_of(r, 2), rest_of(r, 2)};
  if (mn.starts_with("ldr")) return {Unit::load_store, 1, 2, first_of(r, 1), rest_of(r, 1)};
  if (mn.starts_with("str")) return {Unit::load_store, 1, 0, {}, r};
  if (starts_with(mn, {"sdiv", "udiv"})) return {Unit::scalar, 6, 1, first_of(r, 1), r};
  if (starts_with(mn, {"smull", "umull", "smlal", "umlal"})) return {Unit::scalar, 1, 2, first_of(r, 2), rest_of(r, 2)};
  if (starts_with(mn, {"mul", "mla", "mls", "smla", "smul", "smm"})) return {Unit::scalar, 1, 2, first_of(r, 1), rest_of(r, 1)};
  return {Unit::scalar, 1, 1, first_of(r, 1), starts_with(mn, {"cmp", "tst", "cb"}) ? r : rest_of(r, 1)};
}

// When units and registers are free again, in cycles since it was made.
class Scoreboard {
 public:
  // Cycles from the instruction before to this one.
  uint32_t issue(const Timing& t) {
    if (t.free()) return 0;
    const bool has_unit = t.unit == Unit::load_store || t.unit == Unit::integer || t.unit == Unit::multiply;
    const int before = now_;
    int start = now_ + 1;
    if (has_unit) start = std::max(start, unit_free_[size_t(t.unit)]);
    for (std::string_view r : t.reads)
      if (const auto it = ready_.find(r); it != ready_.end()) start = std::max(start, it->second);
    if (has_unit) unit_free_[size_t(t.unit)] = start + t.busy;
    for (std::string_view r : t.writes) ready_[r] = start + t.latency;
    const bool blocks = t.unit == Unit::scalar || (t.unit == Unit::load_store && !t.vector);
    now_ = start + (blocks ? t.busy - 1 : 0);
    return uint32_t(now_ - before);
  }

 private:
  int now_ = -1;
  int unit_free_[5] = {};
  std::map<std::string_view, int> ready_;
};

// For each head of a loop the last instruction of its (shortest) body.
std::map<size_t, size_t> loops_of(const std::vector<Instruction>& code) {
  std::map<uint32_t, size_t> index;
  for (size_t i = 0; i < code.size(); i++) index[code[i].address] = i;
  std::map<size_t, size_t> loops;
  for (size_t i = 0; i < code.size(); i++) {
    if (!branch_of(code[i]).any && !is_loop_end(code[i].mnemonic)) continue;
    if (is_one_of(base_of(code[i].mnemonic), {"bl", "blx"})) continue;
    uint32_t address;
    if (!branch_target(code[i].operands, &address)) continue;
    const auto head = index.find(address);
    if (head == index.end() || head->second > i || i >= head->second + kLongestLoop) continue;
    if (code[head->second].function == code[i].function) loops.emplace(head->second, i);
  }
  return loops;
}

std::vector<uint32_t> m55_costs(const std::vector<Instruction>& code) {
  std::vector<Timing> timings;
  for (const Instruction& in : code) timings.push_back(m55_timing(in));
  const std::map<size_t, size_t> loops = loops_of(code);
  std::vector<uint32_t> costs;
  Scoreboard board;
  for (size_t i = 0; i < code.size(); i++) {
    if (i && code[i].function != code[i - 1].function) board = Scoreboard();
    if (const auto loop = loops.find(i); loop != loops.end()) {
      board = Scoreboard();
      for (size_t k = i; k <= loop->second; k++) board.issue(timings[k]);
    }
    costs.push_back(board.issue(timings[i]));
    if (branch_of(code[i]).always) board = Scoreboard();
  }
  return costs;
}

// ---- m4, m0 -------------------------------------------------------------------------------------------------------------------

uint32_t m4_cost(std::string_view mn, std::string_view before) {
  if (starts_with(mn, {"ldrd", "strd"})) return 3;
  if (mn.starts_with("ldr")) return is_load_store(before) && !starts_with(before, {"ldrd", "strd"}) ? 1 : 2;
  if (starts_with(mn, {"sdiv", "udiv"})) return 8;
  return starts_with(mn, {"vldr", "vstr"}) ? 2 : 1;
}

std::vector<uint32_t> simple_costs(const std::vector<Instruction>& code, Pipeline pipeline) {
  std::vector<uint32_t> costs;
  std::string_view before;
  for (const Instruction& in : code) {
    const std::string_view mn = in.mnemonic;
    if (is_block_transfer(mn))
      costs.push_back(1 + list_length(in.operands));
    else if (pipeline == Pipeline::m4)
      costs.push_back(m4_cost(mn, before));
    else
      costs.push_back(is_load_store(mn) || mn == "bl" ? 2 : 1);
    before = mn;
  }
  return costs;
}

// "    1f4:	ldr	r0, [pc, #8]	; (200 <f+0x10>)"; false for anything else.
bool parse_instruction(const std::string& line, Instruction* in) {
  std::istringstream words(line);
  std::string address;
  if (!(words >> address >> in->mnemonic) || address.size() < 2 || address.back() != ':') return false;
  address.pop_back();
  char* end;
  in->address = uint32_t(strtoul(address.c_str(), &end, 16));
  if (*end) return false;
  in->operands.clear();
  std::getline(words >> std::ws, in->operands);
  in->operands = in->operands.substr(0, in->operands.find_first_of(";@"));
  return true;
}

}  // namespace

std::vector<Counts> read_counts(const std::filesystem::path& path) {
  std::istringstream lines(read_text(path));
  std::vector<Counts> blocks;
  for (std::string line; std::getline(lines, line);) {
    unsigned address;
    unsigned long long count;
    if (sscanf(line.c_str(), "%x %llu", &address, &count) != 2)
      blocks.emplace_back();
    else if (!blocks.empty())
      blocks.back()[address] = count;
  }
  return blocks;
}

std::vector<Instruction> disassemble(const std::filesystem::path& elf) {
  // Without the architecture's name the vector instructions come out as those of a coprocessor.
  const ProcessResult r =
      run_process({kDisassembler, "-d", "--no-show-raw-insn", "-Mforce-thumb", "-marmv8.1-m.main", elf}, "/", kDisassembleSeconds);
  if (!r.ok())
    throw Error(Code::no_tool, "cannot disassemble " + elf.string() + ": " + r.output, "apt-get install binutils-arm-none-eabi");
  std::vector<Instruction> code;
  std::istringstream lines(r.output);
  Instruction in;
  for (std::string line; std::getline(lines, line);) {
    const size_t open = line.find(" <");
    if (line.ends_with(">:") && open != std::string::npos)
      in.function = line.substr(open + 2, line.size() - open - 4);
    else if (parse_instruction(line, &in))
      code.push_back(in);
  }
  return code;
}

CycleModel::CycleModel(const std::vector<Instruction>& code, Pipeline pipeline) : taken_penalty_(pipeline == Pipeline::m0 ? 1 : 2) {
  const std::vector<uint32_t> costs = pipeline == Pipeline::m55 ? m55_costs(code) : simple_costs(code, pipeline);
  for (size_t i = 0; i < code.size(); i++) {
    const Branch b = branch_of(code[i]);
    costs_.push_back({code[i].address, costs[i], b.any, b.always});
  }
}

uint64_t CycleModel::cycles(const Counts& counts) const {
  const auto executions = [&](size_t i) {
    const auto it = i < costs_.size() ? counts.find(costs_[i].address) : counts.end();
    return it == counts.end() ? 0 : it->second;
  };
  uint64_t sum = 0;
  for (size_t i = 0; i < costs_.size(); i++) {
    const uint64_t n = executions(i);
    if (!n) continue;
    const uint64_t through = costs_[i].always ? 0 : std::min(n, executions(i + 1));
    sum += n * costs_[i].cycles + (costs_[i].branch ? taken_penalty_ * (n - through) : 0);
  }
  return sum;
}

}  // namespace corten
