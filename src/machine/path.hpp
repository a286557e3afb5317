/// \file  From where to where a transfer of a planned exchange goes.
#pragma once

#include <cstdint>

#include "strake/place.hpp"

namespace strake::machine {

/// Where one end's array is.
struct PathEnd {
  MemoryKind memory = MemoryKind::Host;
  int rank = 0;
  int node = 0;
  int gpu = -1;        ///< which of its node's, as the profile numbers them; -1: host memory
  bool shared = true;  ///< host memory that the other ranks of the node map
};

enum class PathLink : std::uint8_t {
  SameMemory,  ///< one memory of one rank
  SameGpu,     ///< two ranks with one GPU
  PeerGpu,     ///< two GPUs of a node
  Host,        ///< two memories of a node, at least one of them host memory
  OtherNode,
};
inline constexpr int kPathLinks = 5;

struct Path {
  PathEnd from;
  PathEnd to;
};
[[nodiscard]] PathLink link_of(const Path& path) noexcept;

/// "same memory", …
[[nodiscard]] const char* name_of(PathLink link) noexcept;

[[nodiscard]] inline bool is_on_device(const PathEnd& end) noexcept {
  return end.memory == MemoryKind::Device;
}

}  // namespace strake::machine
