/// \file  Words by which devices and CPUs report rounds of puts (copy/device_copier.hpp).
#pragma once

#include <cstdint>

namespace strake {

/// How far a rank is, in pinned memory: what its device tells its CPU. A round that has a number
/// (ticket) of the CPU's is told of; rounds of a graph, which runs unseen, have none.
struct PutProgress {
  volatile std::uint64_t put_ticket = 0;    ///< the last whose bytes are with the others
  volatile std::uint64_t round = 0;         ///< of put_ticket
  volatile std::uint64_t taken_ticket = 0;  ///< the last whose bytes were taken
  /// Written by the CPU: the device waits for no flag any more.
  volatile std::uint64_t given_up = 0;
};

/// Numbers that the kernels of a rank's puts keep from round to round, in memory of its device;
/// zero at first.
struct PutCounts {
  std::uint64_t round = 0;  ///< the last that was put
  std::uint32_t put_arrivals = 0;
  std::uint32_t arrivals = 0;
  std::uint32_t own_tickets = 0;  ///< tiles of the rank's own copies that have been begun
  /// When the last round began, its bytes were with the others, theirs were seen here, and it
  /// ended (0: not known): on the device's clock. [ns]
  enum Stage : std::uint32_t { kBegun, kPut, kSeen, kEnded };
  std::uint64_t times[4] = {};
};

/// The flags between a rank and one other, which hold the last round that was put.
struct PutFlags {
  std::uint64_t* there = nullptr;          ///< in the other's staging memory, written by this rank
  std::uint64_t* there_on_host = nullptr;  ///< the same for the other's CPU
  const std::uint64_t* here = nullptr;     ///< in this rank's staging memory, written by the other
};

}  // namespace strake
