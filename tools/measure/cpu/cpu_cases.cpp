#include "cpu_cases.hpp"

#include <algorithm>

namespace strake::measure {

std::byte* Arena::at_least(std::size_t bytes) {
  constexpr std::size_t kLeast = std::size_t{1} << 20;  // so that small cases do not make it grow
  if (memory_ == nullptr || memory_->size() < bytes) {
    memory_.reset();  // first: both may not fit
    memory_ = std::make_unique<HostMemory>(std::max(bytes, kLeast));
  }
  return memory_->data();
}

std::vector<Case> CpuSuite::cases() {
  const std::int64_t memory = memory_to_spend();
  std::vector<Case> all = pack_cases(memory);
  std::vector<Case> copies = memcpy_cases(memory);
  std::move(copies.begin(), copies.end(), std::back_inserter(all));
  return all;
}

}  // namespace strake::measure
