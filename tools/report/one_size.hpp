/// \file  Makes bandwidths comparable: those shown side by side must be of one size, since a larger
/// copy is faster on every link.
#pragma once

#include <string>

#include "machine/profile.hpp"
#include "report/matrix.hpp"

namespace strake::report {

/// Brings the cells of each kind (nodes, pinned memory and GPUs, one GPU and another, ...; both
/// ways) to the largest size at which all of them were measured. Cells without a common size stay.
void use_one_size(BandwidthMatrix& matrix, const machine::Profile& profile);

/// The sizes by kind: "1 GiB within a gpu, 64 MiB gpu-gpu"; empty: nothing was measured
[[nodiscard]] std::string sizes_text(const BandwidthMatrix& matrix);

}  // namespace strake::report
