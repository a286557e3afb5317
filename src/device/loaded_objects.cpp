#include "device/loaded_objects.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <mutex>

#include "state/process_state.hpp"

namespace strake {
namespace {

// Libraries that are empty since their contents moved into libc. Each can become the list's tail
// once. An object of the application can't: it may be unloaded, and a reference would prevent that.
constexpr std::array kEmptyLibraries = {"libanl.so.1", "libutil.so.1", "librt.so.1", "libdl.so.2"};

struct Settling {
  std::mutex mutex;
  std::size_t next = 0;  ///< the first of kEmptyLibraries that was not tried yet
};

bool is_loaded(const char* library) noexcept {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

}  // namespace

unsigned long long objects_loaded() noexcept {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;  // stop: every entry has the same count
      },
      &count);
  return count;
}

bool settle_objects(unsigned long long looked_at) noexcept {
#ifdef __GLIBC__
  auto& [mutex, next] = ProcessState::part<Settling>();
  const std::scoped_lock lock(mutex);
  while (next < kEmptyLibraries.size()) {
    const char* const library = kEmptyLibraries[next++];
    if (is_loaded(library)) continue;
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) continue;
    link_map* map = nullptr;
    // If more than this library was loaded since the search, another thread has loaded an object.
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || objects_loaded() != looked_at + 1) {
      return false;
    }
    g_settled_tail.store(map, std::memory_order_release);
    return true;
  }
#endif
  static_cast<void>(looked_at);
  return false;
}

}  // namespace strake
