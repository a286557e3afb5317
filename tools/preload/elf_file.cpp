#include "elf_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace strake::preload {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#elif defined(__powerpc64__)
constexpr int kMachine = EM_PPC64;
#elif defined(__riscv)
constexpr int kMachine = EM_RISCV;
#else
#error "this processor's ELF machine number is not known here"
#endif

}  // namespace

ElfFile::ElfFile(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    void* mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped != MAP_FAILED) data_ = static_cast<const std::byte*>(mapped);
  }
  close(fd);
  const auto* header = at<ElfW(Ehdr)>(0);
  constexpr int kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != kClass || header->e_machine != kMachine ||
      header->e_phentsize != sizeof(ElfW(Phdr))) {
    return;
  }
  const auto* segments = at<ElfW(Phdr)>(header->e_phoff, header->e_phnum);
  if (segments == nullptr) return;
  header_ = header;
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_DYNAMIC) continue;
    dynamic_count_ = segments[i].p_filesz / sizeof(ElfW(Dyn));
    dynamic_ = at<ElfW(Dyn)>(segments[i].p_offset, dynamic_count_);
  }
  if (dynamic_ == nullptr) dynamic_count_ = 0;
  std::size_t address = 0;
  if (!find(DT_STRTAB, 0, address)) return;
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
        address < segments[i].p_vaddr + segments[i].p_filesz) {
      strings_ = address - segments[i].p_vaddr + segments[i].p_offset;
    }
  }
}

ElfFile::~ElfFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

template <typename T>
const T* ElfFile::at(std::size_t offset, std::size_t count) const {
  if (data_ == nullptr || offset > size_ || offset % alignof(T) != 0 ||
      count > (size_ - offset) / sizeof(T)) {
    return nullptr;
  }
  return reinterpret_cast<const T*>(data_ + offset);
}

const char* ElfFile::string_at(std::size_t offset) const {
  if (data_ == nullptr || offset >= size_) return nullptr;
  const char* text = reinterpret_cast<const char*>(data_ + offset);
  return std::memchr(text, '\0', size_ - offset) == nullptr ? nullptr : text;
}

bool ElfFile::find(ElfW(Sxword) tag, std::size_t i, std::size_t& value) const {
  for (std::size_t entry = 0; entry < dynamic_count_ && dynamic_[entry].d_tag != DT_NULL; ++entry) {
    if (dynamic_[entry].d_tag != tag || i-- != 0) continue;
    value = dynamic_[entry].d_un.d_val;
    return true;
  }
  return false;
}

const char* ElfFile::dynamic_string(ElfW(Sxword) tag, std::size_t i) const {
  std::size_t offset = 0;
  return strings_ != 0 && find(tag, i, offset) ? string_at(strings_ + offset) : nullptr;
}

const char* ElfFile::needed(std::size_t i) const { return dynamic_string(DT_NEEDED, i); }
const char* ElfFile::rpath() const { return dynamic_string(DT_RPATH, 0); }
const char* ElfFile::runpath() const { return dynamic_string(DT_RUNPATH, 0); }

bool ElfFile::contains(const char* text) const {
  return data_ != nullptr && memmem(data_, size_, text, std::strlen(text)) != nullptr;
}

}  // namespace strake::preload
