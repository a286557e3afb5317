/// \file  Which file a process's profile is, and whether it may be used here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "machine/profile.hpp"

namespace strake::machine {

struct Located {
  enum class Outcome : std::uint8_t {
    Found,
    Off,      ///< STRAKE_PROFILE=none
    Missing,  ///< nothing was measured on this class of machine
    Unusable,
  };
  Outcome outcome = Outcome::Missing;
  std::optional<Profile> profile;
  std::string file;     ///< that holds it
  std::string problem;  ///< why none is used, for people; names the file
};

/// `setting` is STRAKE_PROFILE's value; `folder` and `key` are profile_folder() and machine_key().
[[nodiscard]] Located locate(std::string_view setting, const std::string& folder,
                             const std::string& key);

}  // namespace strake::machine
