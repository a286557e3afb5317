/// \file  Profiles of machines that do not exist, with times as real ones have them.
#pragma once

#include <string>

#include "machine/profile.hpp"

namespace strake::report_test {

/// Two sockets, `gpus` GPUs on NVLinks, one MPI library; `speed` times as fast as it might be.
[[nodiscard]] machine::Profile made_up(const std::string& host, int gpus, double speed);

/// As `strake measure` writes it.
[[nodiscard]] std::string json_of(const machine::Profile& profile);

}  // namespace strake::report_test
