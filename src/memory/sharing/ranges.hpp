/// \file  Blocks of any size in one range of memory. What is known of them is not in the memory
/// itself, which others may write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace strake::sharing {

/// One thread at a time. A block is taken from the first gap that is long enough. Cost: O(gaps).
class Ranges {
 public:
  /// \param bytes  how many there are
  explicit Ranges(std::int64_t bytes) : bytes_(bytes), free_{{0, bytes}} {}
  /// The offset of a block, a multiple of `alignment`; nothing if no gap is long enough.
  [[nodiscard]] std::optional<std::int64_t> take(std::int64_t bytes, std::int64_t alignment);
  /// `begin` and `bytes` as in take().
  void give_back(std::int64_t begin, std::int64_t bytes);
  /// Whether no block is taken.
  [[nodiscard]] bool is_unused() const noexcept {
    return free_.size() == 1 && free_.begin()->second == bytes_ && free_.begin()->first == 0;
  }

 private:
  std::int64_t bytes_;
  std::map<std::int64_t, std::int64_t> free_;  ///< the gaps: end, by begin
};

}  // namespace strake::sharing
