/// \file  Reads a profile's JSON (docs/profile.md), strictly: what is shown or chosen by must be
/// what was measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "machine/profile.hpp"

namespace strake::measure {

/// Of the format, as docs/profile.md counts them.
inline constexpr int kProfileVersion = 1;

struct ProfileDocument {
  nlohmann::ordered_json json;
  machine::Profile profile;  ///< the same, its results in the same order
};

/// \throws Error  with the file, the place in it, and what is wrong there
[[nodiscard]] ProfileDocument read_profile_document(const std::string& path);

}  // namespace strake::measure
