/// \file  Tries whether the MPI library takes device pointers.
#pragma once

#include <array>
#include <string>

namespace strake::measure {

/// Collectives in the order in which they are tried: a library that moves device buffers may still
/// add them up on the CPU, and die of it.
inline constexpr std::array kTriedCollectives = {"broadcast", "allgather", "alltoall", "allreduce"};

struct Awareness {
  /// Messages: 1, the right bytes came; 0, they did not, or a rank died, or nothing came for 20 s;
  /// -1, not tried: no device, or no launcher that starts two ranks of this library.
  int messages = -1;
  /// Bit i: kTriedCollectives[i] brought the right bytes.
  unsigned collectives = 0;
};

/// Starts a job of two ranks with this library's launcher that does all this on device buffers. The
/// first call takes a second or more, or no time without a device; later calls return its answer.
[[nodiscard]] Awareness tried_job_of_two();
/// Why there is no answer although there is a device. Empty if there is one, and without a device.
[[nodiscard]] std::string why_not_tried();

}  // namespace strake::measure
