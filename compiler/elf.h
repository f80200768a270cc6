// A reader of 32-bit little-endian ELF files, for sizes and addresses in firmware.
#pragma once
#include <stdint.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace corten {

struct ElfSection {
  std::string name;
  uint32_t type = 0, flags = 0, address = 0, size = 0, file_offset = 0;
  bool in_flash() const { return (flags & 2) != 0 && type != 8 && size != 0; }  // SHF_ALLOC and not SHT_NOBITS
};

struct ElfSymbol {
  std::string name;
  uint32_t address = 0, size = 0;  // Thumb bit cleared
  bool function = false;
};

class Elf {
 public:
  static Elf load(const std::filesystem::path&);  // throws Error
  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }
  const ElfSymbol* symbol(const std::string& name) const;             // nullptr if none
  const ElfSymbol* function_at(uint32_t address) const;               // that contains it
  std::vector<uint8_t> bytes(uint32_t address, uint32_t size) const;  // as loaded; fewer where the section ends

 private:
  std::string data_;
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
};

}  // namespace corten
