/// \file  Whether this rank's messages may go by memory that ranks of a node share
/// (exchange/shared/post_office.hpp).
#pragma once

#include <cstdint>

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
};
inline constexpr int kSharings = 7;

/// For people: "several threads may be in MPI at a time".
[[nodiscard]] const char* name_of(Sharing sharing) noexcept;

/// In MPI_Init: takes part if it can be. `rank` is that in MPI_COMM_WORLD.
void begin_sharing(int rank, bool spawned) noexcept;
/// Several threads may be in MPI from now on: nothing more is sent by shared memory.
void stop_sharing() noexcept;
/// Before MPI ends.
void end_sharing() noexcept;
[[nodiscard]] Sharing sharing() noexcept;
/// How many other ranks this one reaches by shared memory.
[[nodiscard]] int ranks_shared_with() noexcept;
/// How many of its messages were to be copied from where they lay, but were packed after all.
[[nodiscard]] std::uint64_t offers_late() noexcept;

}  // namespace strake::interpose
