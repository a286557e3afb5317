/// \file  Loads the device plug-in once the process itself uses a device runtime, and never before.
#include "device/backend.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "device/loaded_objects.hpp"
#include "device/own_folder.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

constexpr const char* kPlugin = "libstrake-cuda.so";
// The driver's answers if it can be used: there is a context, or it was destroyed. With any other
// answer cuInit was never called, or the process ends, or this is a callback, which must not call
// the driver.
constexpr int kDriverSuccess = 0;
constexpr int kDriverInvalidContext = 201;

using CurrentContext = int (*)(void**);

std::atomic<DeviceBackend*> g_backend{nullptr};
std::atomic<bool> g_given_up{false};
std::atomic<CurrentContext> g_current_context{nullptr};
std::atomic<unsigned long long> g_objects_seen{0};
// settle_objects() takes about 30 us, as long as so many calls of objects_loaded(), and saves those
// from then on.
constexpr int kAsksBeforeSettling = 4096;
std::atomic<int> g_asks{0};  // since an object was loaded

struct Plugin {
  std::mutex mutex;  ///< of its loading
  std::atomic<void*> handle{nullptr};
  /// Until set_block_source() is called: straight from the back end.
  BlockSource blocks{
      [](Place place, std::int64_t bytes) { return device_backend()->allocate(place, bytes); },
      [](Place place, void* block) noexcept { device_backend()->deallocate(place, block); }};
};
Plugin& the_plugin() noexcept { return ProcessState::part<Plugin>(); }

/// Whether the process's driver is initialised, and can be called here.
bool driver_in_use() noexcept {
  CurrentContext current = g_current_context.load(std::memory_order_acquire);
  if (current == nullptr) {
    if (no_object_since()) return false;
    const unsigned long long objects = objects_loaded();
    if (objects == g_objects_seen.load(std::memory_order_relaxed)) {
      const int asks = g_asks.load(std::memory_order_relaxed) + 1;
      g_asks.store(asks, std::memory_order_relaxed);
      if (asks == kAsksBeforeSettling && settle_objects(objects)) {
        g_objects_seen.store(objects + 1, std::memory_order_relaxed);
      }
      return false;
    }
    g_asks.store(0, std::memory_order_relaxed);
    // The reference is kept, so that the driver is never unloaded.
    void* library = dlopen(kDriverLibrary, RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) {
      current = reinterpret_cast<CurrentContext>(dlsym(library, "cuCtxGetCurrent"));
    }
    if (current == nullptr) {
      g_objects_seen.store(objects, std::memory_order_relaxed);
      return false;
    }
    g_current_context.store(current, std::memory_order_release);
  }
  void* context = nullptr;
  const int code = current(&context);
  return code == kDriverSuccess || code == kDriverInvalidContext;
}

void* open_plugin() {
  const std::string folder = own_folder();
  std::string reasons;
  for (const std::string& path :
       {folder + "/" + kPlugin, folder + "/strake/" + kPlugin, folder + "/../lib/" + kPlugin,
        folder + "/../lib/strake/" + kPlugin, folder + "/../" + kPlugin, std::string(kPlugin)}) {
    // Never unloaded: the CUDA runtime inside registers handlers that run at exit.
    if (void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return plugin;
    reasons += std::string(reasons.empty() ? "" : "; ") + dlerror();
  }
  log::warn("device memory is left to the MPI library: {} was not loaded ({})", kPlugin, reasons);
  return nullptr;
}

DeviceBackend* load() {
  void* plugin = open_plugin();
  if (plugin == nullptr) return nullptr;
  const auto make =
      reinterpret_cast<MakeDeviceBackend>(dlsym(plugin, "strake_make_device_backend"));
  DeviceBackendOptions options;
  options.blocks = block_source();
  options.warn = [](const char* text) { log::warn("{}", text); };
  if (const std::int64_t spin_us = settings::number(settings::Id::spin_us); spin_us > 0) {
    options.spin_ns = spin_us * 1000;  // the default is longer than a small kernel takes
  }
  DeviceBackend* backend = make == nullptr ? nullptr : make(kDeviceBackendVersion, options);
  if (backend == nullptr) {
    log::warn("{} is of another version, or found no usable device", kPlugin);
  } else if (backend->maps() == nullptr) {
    log::info("the calls by which {} maps memory can't be counted, so it is asked at each message",
              kDriverLibrary);
  } else {
    g_driver_maps.store(backend->maps(), std::memory_order_release);
  }
  the_plugin().handle.store(plugin, std::memory_order_release);
  return backend;
}

}  // namespace

void set_block_source(const BlockSource& source) noexcept { the_plugin().blocks = source; }
const BlockSource& block_source() noexcept { return the_plugin().blocks; }

void* device_plugin_symbol(const char* name) noexcept {
  void* const plugin = the_plugin().handle.load(std::memory_order_acquire);
  return plugin != nullptr ? dlsym(plugin, name) : nullptr;
}

DeviceBackend* device_backend() noexcept {
  if (DeviceBackend* backend = g_backend.load(std::memory_order_acquire)) return backend;
  if (g_given_up.load(std::memory_order_relaxed) || !driver_in_use()) return nullptr;
  try {
    const std::scoped_lock lock(the_plugin().mutex);
    DeviceBackend* backend = g_backend.load(std::memory_order_acquire);
    if (backend != nullptr || g_given_up.load(std::memory_order_relaxed)) return backend;
    backend = load();
    if (backend == nullptr) g_given_up.store(true, std::memory_order_relaxed);
    g_backend.store(backend, std::memory_order_release);
    return backend;
  } catch (const std::exception& error) {
    g_given_up.store(true, std::memory_order_relaxed);
    log::write(log::Level::Warn, error.what());
    return nullptr;
  }
}

DeviceBackend& required_device_backend() {
  DeviceBackend* const backend = device_backend();
  if (backend == nullptr) throw Unsupported("device memory, but no device back end is loaded");
  return *backend;
}

}  // namespace strake
