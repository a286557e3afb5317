/// \file  This machine as a file that `strake plan --machine` reads.
#pragma once

#include <optional>
#include <string>

#include "topo/show.hpp"

namespace strake::topo {

/// A whole file (JSON): the bandwidths between GPUs, or between cores where there is no GPU, and
/// the NICs. \param nic_gbs  replaces the sum of the NICs' rates [GB/s] \throws Error  a number
/// that the file needs is not known; the message says how to get it
[[nodiscard]] std::string to_machine_file(const View& view, std::optional<double> nic_gbs);

}  // namespace strake::topo
