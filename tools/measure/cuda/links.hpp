/// \file  What the links of a device allow, from NVML where it can be had.
#pragma once

namespace strake::measure::cuda {

/// \{ Bytes per second in one direction; 0: not known.
[[nodiscard]] double host_link(int device);            ///< PCIe generation x width
[[nodiscard]] double peer_link(int device, int peer);  ///< NVLinks x rate, or the slower PCIe
[[nodiscard]] double all_links(int device);            ///< to all of its peers together
[[nodiscard]] double memory_rate(int device);          ///< the device's memory, either direction
/// \}

}  // namespace strake::measure::cuda
