#include "begin.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "at_fork.hpp"
#include "heap.hpp"
#include "machine.hpp"
#include "memory/sharing/heap_view.hpp"
#include "memory/sharing/memory_file.hpp"

using strake::sharing::HeapUse;
using strake::sharing::HeapView;

extern "C" HeapView strake_heap_view;

namespace strake::heap {
namespace {

/// The value of a variable in an environment that may not be the C library's yet; null: none.
const char* value_of(const char* name, char** environment) noexcept {
  const std::size_t length = std::strlen(name);
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
      return *environment + length + 1;
  }
  return nullptr;
}

/// "262144", "256K" or "256k"; 0: it is no size, or not one that a block may have.
std::size_t bytes_of(const char* text) noexcept {
  constexpr unsigned long long kLeast = 1 << 10;
  constexpr unsigned long long kMost = 1 << 30;
  char* rest = nullptr;
  const unsigned long long number = std::strtoull(text, &rest, 10);
  const int unit = *rest & ~0x20;  // in capitals
  const int shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
  if (number > kMost >> shift || number << shift < kLeast) return 0;
  return static_cast<std::size_t>(number << shift);
}

/// Whether a launcher has started this process, or what did, as a rank.
bool is_rank(char** environment) noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (value_of(name, environment) != nullptr) return true;
  }
  return false;
}

bool has_sanitizer() noexcept {
  for (const char* name : {"__asan_init", "__msan_init", "__tsan_init", "__hwasan_init"}) {
    if (dlsym(RTLD_DEFAULT, name) != nullptr) return true;
  }
  return false;
}

/// Whether the program's calls of malloc come here. (The address of malloc itself is the same for
/// all objects.) In a program whose addresses are fixed it may be that of a stub of the program,
/// which leads to the first library that has the function.
bool is_called() noexcept {
  void* const found = dlsym(RTLD_DEFAULT, "malloc");
  Dl_info own{};
  Dl_info of_found{};
  void* symbol = nullptr;
  if (dladdr(&g_heap, &own) == 0 || dladdr1(found, &of_found, &symbol, RTLD_DL_SYMENT) == 0)
    return false;
  const auto* const entry = static_cast<const ElfW(Sym)*>(symbol);
  return of_found.dli_fbase == own.dli_fbase || (entry != nullptr && entry->st_shndx == SHN_UNDEF);
}

HeapUse try_to_begin() noexcept {
  if (has_sanitizer()) return HeapUse::Sanitizer;
  if (!is_called()) return HeapUse::Replaced;
  if (is_limited(RLIMIT_AS, -1)) return HeapUse::AddressLimit;
  if (is_limited(RLIMIT_FSIZE, HeapView::kSliceBytes)) return HeapUse::FileLimit;
  if (is_limited(RLIMIT_DATA, -1)) return HeapUse::DataLimit;
  if (sharing::touches_may_fail()) return HeapUse::Overcommit;
  const bool huge_pages = gives_huge_pages();
  if (!watch_forks() || !g_heap.begin(huge_pages, memory_for_each_core()))
    return HeapUse::Resources;
  strake_heap_view.loses_huge_pages = !huge_pages && gives_private_huge_pages();
  return HeapUse::On;
}

}  // namespace

constinit std::size_t g_least = SIZE_MAX;

}  // namespace strake::heap

/// Decides it, once. The preloaded object that comes first calls it before all constructors, so
/// that the handlers of fork() are the first ones; where that is missing, the constructor below
/// does.
extern "C" __attribute__((visibility("default"))) void strake_heap_begin(char** environment) {
  using namespace strake::heap;
  constinit static std::atomic<bool> begun{false};
  if (begun.exchange(true)) return;
  const char* const asked = value_of("STRAKE_SHARED_HEAP", environment);
  if (asked == nullptr || std::strcmp(asked, "1") != 0 || !is_rank(environment)) return;
  const int kept = errno;
  const HeapUse use = try_to_begin();
  strake_heap_view.use.store(use, std::memory_order_release);
  if (use == HeapUse::On) {
    constexpr std::size_t kUsual = 256 << 10;
    const char* const least = value_of("STRAKE_HEAP_LEAST", environment);
    const std::size_t bytes = least == nullptr ? 0 : bytes_of(least);
    g_least = bytes == 0 ? kUsual : bytes;
  }
  errno = kept;
}

namespace {
__attribute__((constructor)) void begin(int, char**, char** environment) {
  strake_heap_begin(environment);
}
}  // namespace
