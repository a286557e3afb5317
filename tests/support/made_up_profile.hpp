#pragma once

// Parts of made-up profiles in tests.
#include <cstdint>
#include <string>

#include "machine/message.hpp"
#include "machine/profile.hpp"

namespace strake::machine {

inline constexpr std::int64_t kKi = 1024;
inline constexpr std::int64_t kMi = 1024 * kKi;
inline constexpr const char* kMpi = "Some MPI 1.2";
inline constexpr Place kHost{MemoryKind::Host, -1};
inline constexpr Place kPinned{MemoryKind::Pinned, 0};
inline constexpr Place kDevice{MemoryKind::Device, 0};

inline Result result(const std::string& name, std::int64_t bytes, std::int64_t block,
                     std::int64_t pitch, double median, const std::string& mpi = kMpi) {
  Result made;
  made.name = name;
  made.mpi = name.starts_with("mpi/") ? mpi : "";
  made.bytes = bytes;
  made.block = block;
  made.pitch = pitch;
  made.median = median;
  return made;
}

}  // namespace strake::machine
