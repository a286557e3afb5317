/// \file  The state of this machine's profile, in one sentence. The summary of a job, its log and
/// every command print this sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "machine/locate.hpp"

namespace strake::machine {

struct ProfileState {
  enum class Kind : std::uint8_t {
    Measured,
    Doubtful,     ///< other work disturbed more than a quarter of it, or all with this MPI library
    NotMeasured,  ///< not at all, not with this MPI library, or the file can't be used
    Off,          ///< STRAKE_PROFILE=none
  };
  Kind kind = Kind::NotMeasured;
  /// "measured with Open MPI 4.1.4 on node1, 2026-11-27"; unless it was measured, it ends with what
  /// decides instead.
  std::string sentence;

  /// Returns the command that mends it, and when to run that: `measure`, which measures, or another
  /// one. Empty if there is nothing to do.
  [[nodiscard]] std::string remedy(std::string_view measure) const;
};

/// "measured", "doubtful", "not measured", "off".
[[nodiscard]] const char* name_of(ProfileState::Kind kind) noexcept;

/// \{ The state for jobs of the MPI library `mpi`, named as in profiles. Empty: of any.
[[nodiscard]] ProfileState state_of(const Located& located, std::string_view mpi = {});
[[nodiscard]] ProfileState state_of(const Profile& profile, std::string_view mpi = {});
/// \}

/// Returns the profile that this process found, or why there is none; `this_machine()` returns the
/// profile itself. The search is done once.
[[nodiscard]] const Located& located_here();

}  // namespace strake::machine
