#include "brick/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "strake/error.hpp"

namespace strake {
namespace {

/// A quiet NaN as a double, and as two floats.
constexpr std::uint64_t kPoison = 0x7FF8'5354'7FF8'5354;
constexpr std::size_t kWord = sizeof(std::uint32_t);
constexpr auto kHalf = static_cast<std::uint32_t>(kPoison);

}  // namespace

std::byte* AnyBrickGrid::Check::brick(std::byte* memory, int field, std::int32_t number) const {
  return memory + field * plan_.field_bytes + plan_.offsets[static_cast<std::size_t>(number)];
}

void AnyBrickGrid::Check::look(const std::byte* memory) const {
  const std::size_t size = static_cast<std::size_t>(plan_.element_bytes);
  if (size % kWord != 0) return;
  for (int field = 0; field < plan_.options.fields; ++field) {
    for (std::int32_t number = 0; number < plan_.decomposition->owned(); ++number) {
      const std::byte* const cells =
          memory + field * plan_.field_bytes + plan_.offsets[static_cast<std::size_t>(number)];
      for (std::int64_t at = 0; at < plan_.brick_bytes; at += plan_.element_bytes) {
        std::uint32_t word = 0;
        // The upper half of a double has what identifies it.
        std::memcpy(&word, cells + at + size - kWord, kWord);
        if (word != kHalf) continue;
        std::vector<std::int64_t> found;
        std::int64_t rest = at / plan_.element_bytes;
        for (std::size_t axis = 0; axis < plan_.axes(); ++axis) {
          found.push_back(plan_.owned.lower[axis] +
                          plan_.positions[static_cast<std::size_t>(number)][axis] *
                              plan_.shape[axis] +
                          rest % plan_.shape[axis]);
          rest /= plan_.shape[axis];
        }
        throw Error(fmt::format(
            "rank {}: cell ({}) of field {} of bricks was computed from a ghost brick that had not "
            "come: call finish() before ghosts are read",
            plan_.rank, fmt::join(found, ", "), field));
      }
    }
  }
}

void AnyBrickGrid::Check::before_start(std::byte* memory) {
  look(memory);
  sent_.clear();
  for (int field = 0; field < plan_.options.fields; ++field) {
    for (std::int32_t number = plan_.decomposition->interior();
         number < plan_.decomposition->owned(); ++number) {
      const std::byte* const from = brick(memory, field, number);
      sent_.insert(sent_.end(), from, from + plan_.brick_bytes);
    }
  }
  poison(memory);
}

/// Calls `visit` for the memory of each ghost brick that is received.
template <typename Visit>
void AnyBrickGrid::Check::for_each_ghost(std::byte* memory, const Visit& visit) const {
  for (int field = 0; field < plan_.options.fields; ++field)
    for (const std::int32_t number : plan_.ghosts)
      if (plan_.owner_of(number) >= 0) visit(brick(memory, field, number));
}

void AnyBrickGrid::Check::poison(std::byte* memory) const {
  for_each_ghost(memory, [&](std::byte* to) {
    for (std::int64_t at = 0; at + static_cast<std::int64_t>(kWord) <= plan_.brick_bytes;
         at += kWord)
      std::memcpy(to + at, &kHalf, kWord);
  });
}

void AnyBrickGrid::Check::after_start(std::byte* memory) {
  hidden_.clear();
  for_each_ghost(memory, [&](const std::byte* from) {
    hidden_.insert(hidden_.end(), from, from + plan_.brick_bytes);
  });
  poison(memory);
}

void AnyBrickGrid::Check::show(std::byte* memory) {
  // Words that came later are there already.
  const std::byte* word = hidden_.data();
  for_each_ghost(memory, [&](std::byte* to) {
    std::int64_t at = 0;
    for (; at + static_cast<std::int64_t>(kWord) <= plan_.brick_bytes; at += kWord, word += kWord)
      if (std::memcmp(to + at, &kHalf, kWord) == 0) std::memcpy(to + at, word, kWord);
    word += plan_.brick_bytes - at;
  });
}

void AnyBrickGrid::Check::after_finish(const std::byte* memory) const {
  const std::byte* kept = sent_.data();
  for (int field = 0; field < plan_.options.fields; ++field) {
    for (std::int32_t number = plan_.decomposition->interior();
         number < plan_.decomposition->owned(); ++number, kept += plan_.brick_bytes) {
      const std::byte* const now =
          memory + field * plan_.field_bytes + plan_.offsets[static_cast<std::size_t>(number)];
      if (std::memcmp(kept, now, static_cast<std::size_t>(plan_.brick_bytes)) != 0)
        throw Error(fmt::format(
            "rank {}: brick {} of field {} was changed between start() and finish(), while it was "
            "sent",
            plan_.rank, number, field));
    }
  }
}

}  // namespace strake
