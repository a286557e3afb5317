/// \file  Transports: the ways in which bytes get from one memory to another. What is known of each
/// is a row of the table in machine/transports.hpp.
/// Sources: dissertation 4.5 (specialised transfers), 5.5 (device, one-shot, staged); FALCON-X 4
/// (direct).
#pragma once

#include <cstdint>

namespace strake::machine {

/// The values are stored and compared: between two GPUs of a node a later one needs less of the
/// machine, and where two ends want different ones, both use the later.
enum class Transport : std::uint8_t {
  Self,     ///< from layout to layout within one memory
  Direct,   ///< from layout to layout, by the receiver, out of the sender's memory
  Shared,   ///< packed into host memory that both ranks map
  Put,      ///< packed by kernels into the peer's device memory
  Engine,   ///< packed in device memory, copied to the peer's by copy engines
  OneShot,  ///< packed by kernels straight into mapped host memory, unpacked out of it
  Staged,   ///< packed in device memory, copied to host memory, and back
  Device,   ///< packed in device memory, which a GPU-aware MPI library sends
  Pack,     ///< packed in host memory, which the MPI library sends
  Library,  ///< left to the MPI library and its datatypes
};
inline constexpr int kTransports = static_cast<int>(Transport::Library) + 1;

}  // namespace strake::machine
