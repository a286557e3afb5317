/// \file  From where to where a transfer of a planned exchange goes, and by which methods it can.
/// Sources: dissertation 4.5 (specialised transfers), 5.5 (device, one-shot, staged).
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
  SameMemory,  ///< both ends are one rank
  SameGpu,     ///< two ranks with one GPU
  PeerGpu,     ///< two GPUs of a node
  Host,        ///< two ranks of a node, at least one of them with its array in host memory
  OtherNode,
};
inline constexpr int kPathLinks = 5;

struct Path {
  PathEnd from;
  PathEnd to;
};
[[nodiscard]] PathLink link_of(const Path& path) noexcept;

/// How the bytes of a transfer can go.
enum class TransferMethod : std::uint8_t {
  Self,     ///< from layout to layout in one memory
  Direct,   ///< the receiver copies from layout to layout, out of the sender's memory
  Engine,   ///< pack in device memory, copy by a copy engine, unpack
  Device,   ///< pack in the receiver's device memory; to another node: in one's own, a GPU-aware
            ///< MPI library sends that
  OneShot,  ///< pack straight into mapped host memory, unpack out of it
  Staged,   ///< pack in device memory, copy to pinned host memory, and back
  Pack,     ///< pack in host memory
};
inline constexpr int kTransferMethods = 7;

/// \{ "same memory", …; "self", …
[[nodiscard]] const char* name_of(PathLink link) noexcept;
[[nodiscard]] const char* name_of(TransferMethod method) noexcept;
/// \}

/// Whether a method can carry bytes over such a path at all. None can where an end is in managed
/// memory, which planned exchanges do not take.
[[nodiscard]] bool is_possible(TransferMethod method, const Path& path) noexcept;

}  // namespace strake::machine
