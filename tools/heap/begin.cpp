#include "begin.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "at_fork.hpp"
#include "heap.hpp"
#include "job/first.hpp"
#include "machine.hpp"
#include "memory/sharing/heap_view.hpp"
#include "memory/sharing/memory_file.hpp"
#include "settings/bytes.hpp"

using strake::sharing::HeapUse;
using strake::sharing::HeapView;

extern "C" HeapView strake_heap_view;

namespace strake::heap {
namespace {

/// The heap's rows of the table of settings, which `strake run` checks.
struct Row {
  const char* name = nullptr;
  std::string_view usual;
  std::string_view range;  ///< "least..most"
};
constexpr Row row_of(std::string_view wanted) noexcept {
  Row found;
#define STRAKE_SETTING(id, name, kind, default_value, since, choices, help) \
  if (wanted == #id) found = {name, default_value, choices};
#include "settings/settings.def"
#undef STRAKE_SETTING
  return found;
}
constexpr Row kHeap = row_of("shared_heap");
constexpr Row kLeast = row_of("heap_least");
constexpr std::size_t kDots = kLeast.range.find("..");
constexpr std::string_view kFrom = kLeast.range.substr(0, kDots);
constexpr std::string_view kTo = kLeast.range.substr(kDots + 2);

bool is_asked_for() noexcept {
  const char* const asked = std::getenv(kHeap.name);
  return asked != nullptr && std::strcmp(asked, "1") == 0;
}

/// The shortest block that comes from the heap. [bytes]
std::size_t least_bytes() noexcept {
  using settings::parse_bytes;
  const char* const text = std::getenv(kLeast.name);
  const auto bytes = parse_bytes(text == nullptr ? kLeast.usual : std::string_view(text));
  const bool right = bytes && *bytes >= *parse_bytes(kFrom) && *bytes <= *parse_bytes(kTo);
  return static_cast<std::size_t>(right ? *bytes : *parse_bytes(kLeast.usual));
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
extern "C" __attribute__((visibility("default"))) void strake_heap_begin() {
  using namespace strake::heap;
  constinit static std::atomic<bool> begun{false};
  if (begun.exchange(true) || !is_asked_for() || !strake::job::is_rank()) return;
  const int kept = errno;
  const HeapUse use = try_to_begin();
  strake_heap_view.use.store(use, std::memory_order_release);
  if (use == HeapUse::On) g_least = least_bytes();
  errno = kept;
}

namespace {
__attribute__((constructor)) void begin() { strake_heap_begin(); }
}  // namespace
