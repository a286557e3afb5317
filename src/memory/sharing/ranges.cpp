#include "memory/sharing/ranges.hpp"

#include <iterator>

namespace strake::sharing {

std::optional<std::int64_t> Ranges::take(std::int64_t bytes, std::int64_t alignment) {
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    const auto [begin, end] = *gap;
    const std::int64_t at = (begin + alignment - 1) / alignment * alignment;
    if (end - at < bytes) continue;
    if (at + bytes < end) free_.emplace_hint(std::next(gap), at + bytes, end);
    if (at > begin) {
      gap->second = at;
    } else {
      free_.erase(gap);
    }
    return at;
  }
  return std::nullopt;
}

void Ranges::give_back(std::int64_t begin, std::int64_t bytes) {
  if (bytes == 0) return;
  std::int64_t end = begin + bytes;
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    free_.emplace_hint(next, begin, end);
  }
}

}  // namespace strake::sharing
