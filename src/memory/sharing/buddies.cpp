#include "memory/sharing/buddies.hpp"

#include <algorithm>
#include <bit>

namespace strake::sharing {

Buddies::Buddies(std::span<Unit> units, std::int64_t unit_bytes) noexcept
    : units_(units), unit_bytes_(unit_bytes) {
  // As few blocks as there can be, each at a multiple of its size; the lowest ones come first.
  auto end = static_cast<std::int32_t>(units_.size());
  while (end > 0) {
    const int order = std::countr_zero(static_cast<std::uint32_t>(end));
    end -= std::int32_t{1} << order;
    push(end, order);
  }
}

int Buddies::order_of(std::int64_t bytes) const noexcept {
  const auto units =
      static_cast<std::uint64_t>((std::max(bytes, std::int64_t{1}) - 1) / unit_bytes_);
  return std::bit_width(units);
}

void Buddies::push(std::int32_t number, int order) noexcept {
  std::int32_t& first = first_[static_cast<std::size_t>(order)];
  if (first != 0) unit(first - 1).previous = number + 1;
  unit(number) = {first, 0, order + 1};
  first = number + 1;
}

void Buddies::remove(std::int32_t number) noexcept {
  Unit& removed = unit(number);
  if (removed.next != 0) unit(removed.next - 1).previous = removed.previous;
  if (removed.previous != 0) {
    unit(removed.previous - 1).next = removed.next;
  } else {
    first_[static_cast<std::size_t>(removed.order - 1)] = removed.next;
  }
  removed.order = 0;
}

std::optional<std::int64_t> Buddies::take(std::int64_t bytes) noexcept {
  const int wanted = order_of(bytes);
  int order = wanted;
  while (order < kOrders && first_[static_cast<std::size_t>(order)] == 0) ++order;
  if (order >= kOrders) return std::nullopt;
  const std::int32_t number = first_[static_cast<std::size_t>(order)] - 1;
  remove(number);
  while (order > wanted) {
    --order;
    push(number + (std::int32_t{1} << order), order);
  }
  return number * unit_bytes_;
}

void Buddies::give_back(std::int64_t offset, std::int64_t bytes) noexcept {
  auto number = static_cast<std::int32_t>(offset / unit_bytes_);
  int order = order_of(bytes);
  const auto count = static_cast<std::int32_t>(units_.size());
  for (;; ++order) {
    const std::int32_t buddy = number ^ (std::int32_t{1} << order);
    if (buddy >= count || unit(buddy).order != order + 1) break;
    remove(buddy);
    number = std::min(number, buddy);
  }
  push(number, order);
}

}  // namespace strake::sharing
