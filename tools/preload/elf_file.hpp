/// \file  Reads which libraries an ELF file needs. Uses only the C library, since the preloaded
/// object is built from this too. Every read is checked against the file's length, since it may be
/// any file.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>

namespace strake::preload {

/// A file mapped for reading. Only files of this process's own class and machine are valid.
class ElfFile {
 public:
  explicit ElfFile(const char* path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  [[nodiscard]] bool valid() const { return header_ != nullptr; }
  /// Whether a dynamic loader starts it or can load it, so that anything can be preloaded.
  [[nodiscard]] bool dynamic() const { return dynamic_ != nullptr; }
  /// The name of the i-th object it needs; null past the last.
  [[nodiscard]] const char* needed(std::size_t i) const;
  /// DT_RPATH, which counts only if there is no DT_RUNPATH; null if absent.
  [[nodiscard]] const char* rpath() const;
  /// DT_RUNPATH; null if absent.
  [[nodiscard]] const char* runpath() const;
  /// Whether these bytes occur anywhere in the file.
  [[nodiscard]] bool contains(const char* text) const;

 private:
  /// `count` values of T at a file offset, or null if the file is shorter.
  template <typename T>
  const T* at(std::size_t offset, std::size_t count = 1) const;
  [[nodiscard]] const char* string_at(std::size_t offset) const;
  /// Value of the i-th dynamic entry with this tag.
  bool find(ElfW(Sxword) tag, std::size_t i, std::size_t& value) const;
  [[nodiscard]] const char* dynamic_string(ElfW(Sxword) tag, std::size_t i) const;

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  const ElfW(Ehdr) * header_ = nullptr;
  const ElfW(Dyn) * dynamic_ = nullptr;
  std::size_t dynamic_count_ = 0;
  std::size_t strings_ = 0;  ///< file offset of the dynamic string table
};

}  // namespace strake::preload
