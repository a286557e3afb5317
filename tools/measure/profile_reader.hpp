/// \file  Reads a profile's JSON and refuses every fault in it: choices must not
/// go by damaged numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "machine/profile.hpp"

namespace strake::measure {

/// The version of the format in docs/reference/profile.md.
inline constexpr int kProfileVersion = 1;

struct ProfileDocument {
  nlohmann::ordered_json json;
  machine::Profile profile;  ///< the same, its results in the same order
};

/// \throws Error  with the file, the place in it, and what is wrong there
[[nodiscard]] ProfileDocument read_profile_document(const std::string& path);

}  // namespace strake::measure
