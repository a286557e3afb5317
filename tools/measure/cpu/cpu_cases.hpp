/// \file  The benchmarks that need nothing but the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../case.hpp"
#include "../host.hpp"

namespace strake::measure {

/// Memory that the cases use one after the other: it grows, so its pages are touched once.
class Arena {
 public:
  /// At least so many bytes, at the start of a page. The one before is given back.
  [[nodiscard]] std::byte* at_least(std::size_t bytes);

 private:
  std::unique_ptr<HostMemory> memory_;
};

/// \{ copy/cpu/…, copy/numa/…: memcpy. pack/cpu/…, unpack/cpu/…: Strake's own copies.
[[nodiscard]] std::vector<Case> memcpy_cases(std::int64_t memory);
[[nodiscard]] std::vector<Case> pack_cases(std::int64_t memory);
/// \}

class CpuSuite final : public Plugin {
 public:
  std::vector<Case> cases() override;
};

}  // namespace strake::measure
