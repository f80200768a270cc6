#include "compiler/elf.h"

#include <string.h>

#include <algorithm>

#include "compiler/process.h"
#include "ir/diag.h"

namespace corten {
namespace {

// The file's own structs (System V ABI), little-endian as the host.
struct FileHeader {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version, entry, program_offset, section_offset, flags;
  uint16_t header_size, program_size, programs, section_size, sections, names;
};
struct SectionHeader {
  uint32_t name, type, flags, address, offset, size, link, info, align, entry_size;
};
struct SymbolEntry {
  uint32_t name, value, size;
  uint8_t info, other;
  uint16_t section;
};
static_assert(sizeof(FileHeader) == 52 && sizeof(SectionHeader) == 40 && sizeof(SymbolEntry) == 16, "ELF32");

template <class T>
T read_at(const std::string& data, uint64_t offset) {
  if (offset + sizeof(T) > data.size()) throw Error(Code::toolchain, "the ELF file is cut short");
  T v;
  memcpy(&v, data.data() + offset, sizeof v);
  return v;
}

std::string text_at(const std::string& data, const SectionHeader& strings, uint32_t name) {
  const uint64_t at = uint64_t(strings.offset) + name;
  return at < data.size() ? std::string(data.c_str() + at) : std::string();
}

}  // namespace

Elf Elf::load(const std::filesystem::path& path) {
  Elf elf;
  elf.data_ = read_text(path);
  const std::string& d = elf.data_;
  const FileHeader h = read_at<FileHeader>(d, 0);
  if (memcmp(h.ident, "\177ELF\1\1", 6)) throw Error(Code::toolchain, path.string() + " is not a 32-bit little-endian ELF file");
  std::vector<SectionHeader> headers;
  for (uint32_t i = 0; i < h.sections; i++)
    headers.push_back(read_at<SectionHeader>(d, h.section_offset + uint64_t(i) * sizeof(SectionHeader)));
  if (h.names >= headers.size()) throw Error(Code::toolchain, path.string() + " has no section names");
  for (const SectionHeader& s : headers) {
    elf.sections_.push_back({text_at(d, headers[h.names], s.name), s.type, s.flags, s.address, s.size, s.offset});
    if (s.type != 2 || s.link >= headers.size()) continue;  // SHT_SYMTAB
    for (uint32_t at = 0; at + sizeof(SymbolEntry) <= s.size; at += sizeof(SymbolEntry)) {
      const SymbolEntry e = read_at<SymbolEntry>(d, uint64_t(s.offset) + at);
      const bool function = (e.info & 15) == 2;
      if (e.section)
        elf.symbols_.push_back({text_at(d, headers[s.link], e.name), function ? e.value & ~1u : e.value, e.size, function});
    }
  }
  return elf;
}

const ElfSymbol* Elf::symbol(const std::string& name) const {
  const auto it = std::find_if(symbols_.begin(), symbols_.end(), [&](const ElfSymbol& s) { return s.name == name; });
  return it == symbols_.end() ? nullptr : &*it;
}

const ElfSymbol* Elf::function_at(uint32_t address) const {
  for (const ElfSymbol& s : symbols_)
    if (s.function && address >= s.address && address - s.address < s.size) return &s;
  return nullptr;
}

std::vector<uint8_t> Elf::bytes(uint32_t address, uint32_t size) const {
  for (const ElfSection& s : sections_) {
    if (!s.in_flash() || address < s.address || address - s.address >= s.size) continue;
    const uint64_t from = uint64_t(s.file_offset) + (address - s.address);
    const uint32_t n = std::min(size, s.size - (address - s.address));
    if (from + n > data_.size()) break;
    const uint8_t* p = reinterpret_cast<const uint8_t*>(data_.data()) + from;
    return {p, p + n};
  }
  return {};
}

}  // namespace corten
