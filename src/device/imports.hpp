/// \file  The functions and data that a loaded shared object takes from others, by its dynamic
/// section.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <span>

namespace strake {

/// Valid as long as the object is loaded.
class Imports {
 public:
  explicit Imports(const link_map& map) noexcept : base_(map.l_addr) {
    std::size_t bytes_of_calls = 0;
    std::size_t bytes_of_data = 0;
    const ElfW(Rela)* calls = nullptr;
    const ElfW(Rela)* data = nullptr;
    for (const ElfW(Dyn)* entry = map.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) value = entry->d_un.d_val;
      if (entry->d_tag == DT_SYMTAB) symbols_ = at<ElfW(Sym)>(value);
      if (entry->d_tag == DT_STRTAB) names_ = at<char>(value);
      if (entry->d_tag == DT_JMPREL) calls = at<ElfW(Rela)>(value);
      if (entry->d_tag == DT_PLTRELSZ) bytes_of_calls = value;
      if (entry->d_tag == DT_RELA) data = at<ElfW(Rela)>(value);
      if (entry->d_tag == DT_RELASZ) bytes_of_data = value;
    }
    if (symbols_ == nullptr || names_ == nullptr) return;
    if (calls != nullptr) calls_ = {calls, bytes_of_calls / sizeof(*calls)};
    if (data != nullptr) data_ = {data, bytes_of_data / sizeof(*data)};
  }

  /// Calls `visit(relocation, symbol, name)` for each relocation that names a symbol, until it
  /// returns true. Returns whether it did.
  template <typename Visit>
  bool any(const Visit& visit) const {
    for (const auto& table : {calls_, data_}) {
      for (const ElfW(Rela) & relocation : table) {
        const std::size_t number = ELF64_R_SYM(relocation.r_info);
        if (number == 0) continue;
        const ElfW(Sym)& symbol = symbols_[number];
        if (visit(relocation, symbol, names_ + symbol.st_name)) return true;
      }
    }
    return false;
  }

 private:
  /// glibc has added the base to the addresses in the section; other loaders, and those of some
  /// architectures, have not.
  template <typename Entry>
  [[nodiscard]] const Entry* at(ElfW(Addr) value) const noexcept {
    return reinterpret_cast<const Entry*>(value < base_ ? base_ + value : value);
  }

  ElfW(Addr) base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  std::span<const ElfW(Rela)> calls_;
  std::span<const ElfW(Rela)> data_;
};

}  // namespace strake
