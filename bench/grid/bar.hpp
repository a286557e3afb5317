/// \file  How long a good exchange may take, by what the devices copy in the same run.
#pragma once

#include <cstdint>
#include <string>

#include "mpi/halo.hpp"
#include "support/statistics.hpp"

namespace bench {

/// Rates are bytes copied per second: each is read once and written once.
struct Bar {
  /// 1.25 x (bytes to other devices / their rate + bytes within / their rate) + 15 [us]
  Summary microseconds;
  double within_gigabytes_per_s = 0;
  double to_others_gigabytes_per_s = 0;  ///< 0 if nothing goes there
  std::string within_by;                 ///< the plans of the copies that were timed
  std::string to_others_by;
};

/// Whether this program has it: if it is about devices.
[[nodiscard]] bool has_bar();
/// Contiguous copies, of all ranks at once; a sample is the slowest rank's. Within a device: 256
/// MiB
/// (`quick`: 16 MiB). To the next rank's device: as many bytes as the exchange sends to others, to
/// memory that this process has there. Checks what was copied. Collective.
[[nodiscard]] Bar measure_bar(const RankBox& box, const HaloShape& shape, bool quick);

}  // namespace bench
