/// \file  Tries whether an MPI library takes device pointers, by a job of its own: it may die of
/// them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "trial.hpp"

namespace strake::probe {

/// Collectives in the order in which they are tried: a library that moves device buffers may still
/// add them up on the CPU, and die of it.
inline constexpr std::array kTriedCollectives = {"broadcast", "allgather", "alltoall", "allreduce"};

struct Awareness {
  /// Messages: 1, the right bytes came; 0, they did not, or a rank died, or nothing came for 20 s;
  /// -1, not tried: no device, or nothing that starts two ranks of this library.
  int messages = -1;
  /// Bit i: kTriedCollectives[i] brought the right bytes.
  unsigned collectives = 0;
};

struct Tried {
  Awareness answer;
  std::string problem;  ///< why there is no answer
};

/// The probe of a library ("openmpi", "mpich"), strake-probe-FLAVOR: in one of `folders`; empty:
/// missing.
[[nodiscard]] std::string probe_program(std::string_view flavor,
                                        const std::vector<std::string>& folders);

/// Starts `program`, the probe, with two ranks: by each of `commands`, a launcher and its options,
/// until one of them lets the ranks find each other. Takes a second or more.
[[nodiscard]] Tried try_gpu_aware(const std::vector<Words>& commands, const std::string& program,
                                  const Words& environment);

}  // namespace strake::probe
