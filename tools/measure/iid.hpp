/// \file  Tests whether samples are independent and identically distributed, by NIST SP 800-90B
/// section 5, for real-valued samples. docs/profile.md says what was adapted.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace strake::measure {

struct IidVerdict {
  bool iid = true;
  std::string failed;  ///< the first test that they failed, such as "excursion"; empty when iid
};

/// Cost: a few ms for 500 samples, below 50 ms in the worst case. Fewer than 7 samples can't be
/// told apart from anything: they pass. `seed` decides the shuffles.
[[nodiscard]] IidVerdict test_iid(std::span<const double> samples, std::uint64_t seed = 1);

}  // namespace strake::measure
