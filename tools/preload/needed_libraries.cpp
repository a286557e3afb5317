#include "needed_libraries.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "elf_file.hpp"
#include "own_program.hpp"

namespace strake::preload {
namespace {

/// Whether `name` is one of the libraries of every process, which need no MPI library.
bool is_base_library(const char* name) {
  for (const char* base :
       {"libc.so.", "libm.so.", "libdl.so.", "libpthread.so.", "librt.so.", "libgcc_s.so.",
        "libstdc++.so.", "libutil.so.", "libselinux.so.", "ld-linux", "ld64.so", "linux-vdso"}) {
    if (starts_with(name, base)) return true;
  }
  return false;
}

/// Whether the file is an ELF object of this machine, whatever its name.
bool usable(const char* path) { return access(path, R_OK) == 0 && ElfFile(path).valid(); }

/// Tries `name` in each directory of a colon-separated list, with $ORIGIN standing for the folder
/// of `owner`.
bool find_in(const char* list, const char* name, const char* owner, char (&out)[PATH_MAX]) {
  for (const char* entry = list; entry != nullptr && *entry != '\0';) {
    const char* colon = std::strchr(entry, ':');
    const int length =
        colon == nullptr ? static_cast<int>(std::strlen(entry)) : static_cast<int>(colon - entry);
    const int origin = starts_with(entry, "$ORIGIN") ? 7 : starts_with(entry, "${ORIGIN}") ? 9 : 0;
    int written = 0;
    if (origin > 0 && origin <= length) {
      const int folder = static_cast<int>(base_name(owner) - owner);
      written = std::snprintf(out, sizeof(out), "%.*s%.*s/%s", folder, owner, length - origin,
                              entry + origin, name);
    } else {
      written = std::snprintf(out, sizeof(out), "%.*s/%s", length, entry, name);
    }
    if (length > 0 && written > 0 && written < PATH_MAX && usable(out)) return true;
    entry = colon == nullptr ? nullptr : colon + 1;
  }
  return false;
}

/// /etc/ld.so.cache as the C library writes it since 2.2: a header, then entries that point at
/// strings.
struct CacheHeader {
  char magic[20];  ///< "glibc-ld.so.cache1.1", no terminating zero
  std::uint32_t entries;
  std::uint32_t string_bytes;
  std::uint32_t unused[5];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name;
  std::uint32_t path;
  std::uint32_t os_version;
  std::uint64_t hardware;
};

bool find_in_cache(const char* name, char (&out)[PATH_MAX]) {
  const int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat status {};
  const bool sized =
      fstat(fd, &status) == 0 && status.st_size > static_cast<off_t>(sizeof(CacheHeader));
  const std::size_t size = sized ? static_cast<std::size_t>(status.st_size) : 0;
  void* mapped = sized ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close(fd);
  if (mapped == MAP_FAILED) return false;
  bool found = false;
  // An older table may come first; offsets count from the start of this one.
  const char* file = static_cast<const char*>(mapped);
  const auto* start = static_cast<const char*>(memmem(file, size, "glibc-ld.so.cache1.1", 20));
  const std::size_t left = start == nullptr ? 0 : size - static_cast<std::size_t>(start - file);
  if (left > sizeof(CacheHeader)) {
    CacheHeader header;
    std::memcpy(&header, start, sizeof(header));
    for (std::size_t i = 0; i < header.entries && !found; ++i) {
      const std::size_t offset = sizeof(header) + i * sizeof(CacheEntry);
      if (offset + sizeof(CacheEntry) > left) break;
      CacheEntry entry;
      std::memcpy(&entry, start + offset, sizeof(entry));
      if (entry.name >= left || entry.path >= left || std::strcmp(start + entry.name, name) != 0)
        continue;
      std::snprintf(out, sizeof(out), "%s", start + entry.path);
      found = usable(out);
    }
  }
  munmap(mapped, size);
  return found;
}

/// The path at which the loader finds `name` for the object `owner`.
bool find_library(const char* name, const char* owner, const ElfFile& from, char (&out)[PATH_MAX]) {
  if (std::strchr(name, '/') != nullptr) {
    std::snprintf(out, sizeof(out), "%s", name);
    return usable(out);
  }
  return (from.runpath() == nullptr && find_in(from.rpath(), name, owner, out)) ||
         find_in(std::getenv("LD_LIBRARY_PATH"), name, owner, out) ||
         find_in(from.runpath(), name, owner, out) || find_in_cache(name, out) ||
         find_in("/lib:/usr/lib:/lib64:/usr/lib64", name, owner, out);
}

bool find_for_program(const char* name, char (&out)[PATH_MAX]) {
  char program[PATH_MAX];
  own_program(program);
  constexpr const char* kSelf = "/proc/self/exe";  // also where the file was removed meanwhile
  return find_library(name, program, ElfFile(access(kSelf, R_OK) == 0 ? kSelf : program), out);
}

/// The MPI library of a file.
MpiLibrary identify_file(char (&path)[PATH_MAX]) {
  const MpiLibrary library = identify_behind(path);
  const bool old_openmpi = library == MpiLibrary::Mpich && ElfFile(path).contains(kOpenMpiSymbol);
  return old_openmpi ? MpiLibrary::Unknown : library;
}

/// Objects to search, and those already seen.
struct Node {
  Node* next = nullptr;
  char path[PATH_MAX];
};

struct Queue {
  Node* first = nullptr;
  Node** last = &first;
  ~Queue() {
    while (first != nullptr) {
      Node* next = first->next;
      std::free(first);
      first = next;
    }
  }
  void add(const char* path) {
    auto* node = static_cast<Node*>(std::malloc(sizeof(Node)));
    if (node == nullptr) return;
    node->next = nullptr;
    std::snprintf(node->path, sizeof(node->path), "%s", path);
    *last = node;
    last = &node->next;
  }
  [[nodiscard]] bool has(const char* name) const {
    for (const Node* node = first; node != nullptr; node = node->next) {
      if (std::strcmp(base_name(node->path), name) == 0) return true;
    }
    return false;
  }
};

}  // namespace

MpiLibrary identify_behind(char (&path)[PATH_MAX]) {
  const MpiLibrary library = identify(path);
  char real[PATH_MAX];
  if (library != MpiLibrary::Unknown || realpath(path, real) == nullptr ||
      identify(real) == MpiLibrary::None) {
    return library;
  }
  std::memcpy(path, real, sizeof(path));
  return identify(path);
}

void find_mpi(const char* path, Loaded loaded, MpiUse& use, const char* caller) {
  char found[PATH_MAX];
  if (std::strchr(path, '/') == nullptr) {
    // The program's RPATH counts for its libraries, too. (Its RUNPATH does not, but is treated
    // alike here.)
    if ((caller[0] == '\0' || !find_library(path, caller, ElfFile(caller), found)) &&
        !find_for_program(path, found)) {
      return;
    }
  } else {
    std::snprintf(found, sizeof(found), "%s", path);
  }
  Queue queue;
  queue.add(found);
  for (const Node* node = queue.first; node != nullptr; node = node->next) {
    const ElfFile file(node->path);
    if (node == queue.first) {
      use.elf = file.valid();
      use.dynamic = file.dynamic();
      if (use.elf) use.library = identify_file(found);
      if (use.library != MpiLibrary::None) std::memcpy(use.path, found, sizeof(use.path));
    }
    if (use.library != MpiLibrary::None) return;
    for (std::size_t i = 0; const char* name = file.needed(i); ++i) {
      if (is_base_library(name) || (loaded != nullptr && loaded(name)) ||
          queue.has(base_name(name)))
        continue;
      const bool there = find_library(name, node->path, file, found);
      use.library = there ? identify_file(found) : identify(name);
      if (use.library != MpiLibrary::None) {
        std::snprintf(use.path, sizeof(use.path), "%s", there ? found : name);
        return;
      }
      if (there) queue.add(found);
    }
  }
}

}  // namespace strake::preload
