/// \file  Whether this rank's messages may go by memory that ranks of a node share
/// (exchange/transport/shared/shm_endpoint.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "memory/sharing/device_memory.hpp"
#include "memory/sharing/heap_view.hpp"

namespace strake::interpose {

/// Whether a rank takes part, or why not.
enum class Sharing : std::uint8_t {
  Yes,
  Off,        ///< STRAKE_SHARE=0, or STRAKE_DISABLE
  Alone,      ///< no other rank is on the node
  NoJob,      ///< not under `strake run`, spawned, or of a launcher that names no job
  Threads,    ///< several threads may be in MPI at a time
  Functions,  ///< receives may pass Strake by
  Resources,  ///< no memory, or no socket
  Directory,  ///< no directory that only this user's processes enter
};
inline constexpr int kSharings = 8;

/// For people: "several threads may be in MPI at a time".
[[nodiscard]] const char* name_of(Sharing sharing) noexcept;

/// In MPI_Init: takes part if it can be. `rank` is that in MPI_COMM_WORLD.
void begin_sharing(int rank, bool spawned) noexcept;
/// Several threads may be in MPI from now on: nothing more is sent by shared memory.
void stop_sharing() noexcept;
/// Before MPI ends.
void end_sharing() noexcept;
[[nodiscard]] Sharing sharing() noexcept;
/// The process's shared heap (`strake run --shared-heap`).
struct SharedHeap {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  /// Blocks that came from elsewhere, by sharing::HeapDeclined.
  std::array<std::uint64_t, sharing::kHeapDeclined> declined{};
  std::array<std::uint64_t, sharing::kHeapUses> ranks{};  ///< by what they make of it
  std::uint64_t small_pages = 0;                          ///< ranks that lose huge pages by it
};
/// \{ For people: "a sanitizer has an allocator of its own".
[[nodiscard]] const char* name_of(sharing::HeapUse use) noexcept;
[[nodiscard]] const char* name_of(sharing::HeapDeclined why) noexcept;
/// \}
[[nodiscard]] SharedHeap heap() noexcept;

/// Counts of this rank's messages by shared memory so far.
struct Shared {
  std::uint64_t ranks = 0;  ///< other ranks that this one reaches by shared memory
  std::uint64_t late = 0;   ///< messages that were packed though they were offered
  /// Bytes of messages that were packed, and would have been offered from memory that others map.
  std::uint64_t ordinary = 0;
  /// Messages of a device whose memory can't be shared, by sharing::Declined.
  std::array<std::uint64_t, sharing::kDeclined> unshareable{};
};
[[nodiscard]] Shared shared() noexcept;

}  // namespace strake::interpose
