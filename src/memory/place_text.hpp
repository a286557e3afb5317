/// \file  Places, for messages.
#pragma once

#include <fmt/format.h>

#include <string>

#include "strake/place.hpp"

namespace strake {

/// "host memory", "device memory of device 1".
[[nodiscard]] inline std::string text_of(Place place) {
  const std::string of = place.device < 0 ? "" : fmt::format(" of device {}", place.device);
  return fmt::format("{} memory{}", name_of(place.kind), of);
}

}  // namespace strake
