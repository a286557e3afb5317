/// \file  Bandwidths that stand beside each other are of one size: a larger copy is faster,
/// whatever the link.
#pragma once

#include <string>

#include "machine/profile.hpp"
#include "report/matrix.hpp"

namespace strake::report {

/// Brings the cells of each kind (nodes, pinned memory and GPUs, one GPU and another, ...; either
/// way) to the largest size that all of them were measured at. Those that share none stay.
void use_one_size(BandwidthMatrix& matrix, const machine::Profile& profile);

/// The sizes by kind: "1 GiB within a gpu, 64 MiB gpu-gpu"; empty: nothing was measured
[[nodiscard]] std::string sizes_text(const BandwidthMatrix& matrix);

}  // namespace strake::report
