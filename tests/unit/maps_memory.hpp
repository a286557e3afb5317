/// \file  Shared objects that map memory, as a driver does.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "device/driver_maps.hpp"
#include "device/own_folder.hpp"

namespace strake {

inline constexpr std::size_t kPage = 4096;
// Beside the program.
inline constexpr const char* kLazy = "libmaps_memory_lazy.so";     // bound at the first call
inline constexpr const char* kReadOnly = "libmaps_memory_now.so";  // bound when loaded

/// An object that maps memory (maps_memory.cpp), and is watched.
class Mapper {
 public:
  explicit Mapper(const char* name)
      : path_(own_folder() + "/" + name),
        handle_(dlopen(path_.c_str(), RTLD_LAZY | RTLD_LOCAL)),
        map_(find<void*(void*, std::size_t, int)>("map_memory")),
        maps_(watch_driver_maps(path_.c_str())) {}

  template <typename Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }
  /// A page, at the address `at` unless that is null.
  [[nodiscard]] void* map(void* at, int protection) const { return map_(at, kPage, protection); }
  [[nodiscard]] bool is_watched() const { return maps_.has_value(); }
  [[nodiscard]] std::uint64_t generation() const { return maps_->generation(); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  void* handle_;
  void* (*map_)(void*, std::size_t, int);
  std::optional<DriverMaps> maps_;
};

}  // namespace strake
