#include "memory/sharing/buddies.hpp"

#include <algorithm>
#include <bit>

namespace strake::sharing {

Buddies::Buddies(std::int64_t bytes)
    : units_(static_cast<std::size_t>(std::min(bytes / kUnit, std::int64_t{1} << (kOrders - 2)))) {
  first_.fill(kNone);
  // As few blocks as there can be, each at a multiple of its size; the lowest ones come first.
  std::int32_t end = static_cast<std::int32_t>(units_.size());
  while (end > 0) {
    const int order = std::countr_zero(static_cast<std::uint32_t>(end));
    end -= std::int32_t{1} << order;
    push(end, order);
  }
}

int Buddies::order_of(std::int64_t bytes) noexcept {
  const auto units = static_cast<std::uint64_t>((std::max(bytes, std::int64_t{1}) - 1) / kUnit);
  return std::bit_width(units);
}

void Buddies::push(std::int32_t unit, int order) noexcept {
  std::int32_t& first = first_[static_cast<std::size_t>(order)];
  if (first != kNone) units_[static_cast<std::size_t>(first)].previous = unit;
  units_[static_cast<std::size_t>(unit)] = {first, kNone, order};
  first = unit;
}

void Buddies::remove(std::int32_t unit) noexcept {
  Unit& removed = units_[static_cast<std::size_t>(unit)];
  if (removed.next != kNone)
    units_[static_cast<std::size_t>(removed.next)].previous = removed.previous;
  if (removed.previous != kNone) {
    units_[static_cast<std::size_t>(removed.previous)].next = removed.next;
  } else {
    first_[static_cast<std::size_t>(removed.order)] = removed.next;
  }
  removed.order = kNone;
}

std::optional<std::int64_t> Buddies::take(std::int64_t bytes) {
  const int wanted = order_of(bytes);
  int order = wanted;
  while (order < kOrders && first_[static_cast<std::size_t>(order)] == kNone) ++order;
  if (order >= kOrders) return std::nullopt;
  const std::int32_t unit = first_[static_cast<std::size_t>(order)];
  remove(unit);
  while (order > wanted) {
    --order;
    push(unit + (std::int32_t{1} << order), order);
  }
  return unit * kUnit;
}

void Buddies::give_back(std::int64_t offset, std::int64_t bytes) noexcept {
  auto unit = static_cast<std::int32_t>(offset / kUnit);
  int order = order_of(bytes);
  const auto count = static_cast<std::int32_t>(units_.size());
  for (;; ++order) {
    const std::int32_t buddy = unit ^ (std::int32_t{1} << order);
    if (buddy >= count || units_[static_cast<std::size_t>(buddy)].order != order) break;
    remove(buddy);
    unit = std::min(unit, buddy);
  }
  push(unit, order);
}

}  // namespace strake::sharing
