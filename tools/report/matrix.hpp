/// \file  The measured bandwidths between all pairs of memories of a machine, from a profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/profile.hpp"

namespace strake::report {

struct Bandwidth {
  double rate = 0;   ///< bytes per second; 0: not measured
  double limit = 0;  ///< as machine::Result
  std::int64_t bytes = 0;
  std::string name;  ///< of the result
  bool doubtful = false;
};

struct BandwidthMatrix {
  std::vector<std::string> places;            ///< "node0", "pinned", "gpu0", …
  std::vector<std::vector<Bandwidth>> cells;  ///< from (row), to (column)

  /// Row or column of a place. A new place is added, as not measured.
  std::size_t place(const std::string& name);
  /// The bandwidth from one place to another; null if it was not measured.
  [[nodiscard]] const Bandwidth* find(const std::string& from, const std::string& to) const;
  [[nodiscard]] bool any() const noexcept;
};

/// Bandwidth of each pair of memories at the largest size that was measured: copy/numa/I-J/flushed
/// (cached where there is none; on machines of one node copy/cpu/…), gpu/peer/I-J (push where there
/// is none, gpu/no-peer where neither is), gpu/copy/device-local, and copies between a GPU and
/// pinned memory. `places` come first, measured or not.
[[nodiscard]] BandwidthMatrix matrix_of(const machine::Profile& profile,
                                        const std::vector<std::string>& places = {});

}  // namespace strake::report
