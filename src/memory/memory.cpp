#include "strake/memory.hpp"

#include <unistd.h>

#include <cstdint>

#include "device/backend.hpp"
#include "memory/host_pages.hpp"
#include "memory/place_cache.hpp"

// The highest address of the main thread's stack; kept by the dynamic loader.
extern "C" void* __libc_stack_end;

namespace strake {
namespace {

PlaceCache g_cache;
constinit HostPages g_host_pages;
const std::uintptr_t g_first_break = reinterpret_cast<std::uintptr_t>(sbrk(0));

// The kernel maps nothing this close below the end of the main stack: an address there is stack.
constexpr std::uintptr_t kStackGap = std::uintptr_t{128} << 20;

/// Returns the generation that entries of g_host_pages must have to hold now.
std::uint64_t generation() noexcept {
  const DriverMaps* const maps = g_driver_maps.load(std::memory_order_acquire);
  return maps != nullptr ? maps->generation() : 0;
}

/// Whether `address` is in memory that a device runtime never allocates: the heap below the break,
/// or the main stack. (If the application page-locks it, Strake still treats it as pageable.)
bool always_host(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at >= g_first_break && at < reinterpret_cast<std::uintptr_t>(sbrk(0))) return true;
  const auto stack_end = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
  return at < stack_end && stack_end - at < kStackGap;
}

Place look_up(const void* address, std::uint64_t& buffer_id) noexcept {
  DeviceBackend* const backend = device_backend();
  if (backend == nullptr) return {};
  const std::uint64_t before = generation();  // the runtime is asked later
  if (g_host_pages.holds(address, before)) return {};
  if (always_host(address)) {
    g_host_pages.enter(address, before);
    return {};
  }
  // Strake does not see when programs free and allocate, so it asks the runtime each time which
  // buffer is there now.
  if (!backend->knows(address, buffer_id)) {
    g_host_pages.note_unknown(address, before);
    return {};
  }
  if (const auto known = g_cache.find(buffer_id)) return *known;
  AllocationInfo info;
  if (!backend->query(address, info)) return {};
  g_cache.insert(info.buffer_id, info.place);
  return info.place;
}

}  // namespace

bool known_as_host(const void* address) noexcept {
  return g_host_pages.holds(address, generation()) || device_backend() == nullptr;
}

Place classify(const void* address) noexcept {
  std::uint64_t buffer_id = 0;
  return look_up(address, buffer_id);
}

Place classify(const void* first, const void* last) noexcept {
  std::uint64_t begins_in = 0;
  std::uint64_t ends_in = 0;
  const Place place = look_up(first, begins_in);
  if (place.kind != MemoryKind::Pinned) return place;
  return device_backend()->knows(last, ends_in) && ends_in == begins_in ? place : Place{};
}

}  // namespace strake
