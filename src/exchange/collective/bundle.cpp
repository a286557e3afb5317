#include "exchange/collective/bundle.hpp"

namespace strake::exchange {

std::int64_t Bundle::bytes() const noexcept {
  std::int64_t said = 0;
  std::memcpy(&said, memory_.data(), sizeof said);
  return std::clamp(said, kHead, room());
}

std::byte* Bundle::add(const BundleEntry& entry) noexcept {
  const std::int64_t at = bytes();
  const std::int64_t inside = room_of(entry);
  if (inside < 0 || at + kEntry + inside > room()) return nullptr;
  std::byte* const place = memory_.data() + at;
  std::memcpy(place, &entry, sizeof entry);
  set_bytes(at + kEntry + inside);
  return place + kEntry;
}

void Bundle::add(const BundleEntry& entry, const std::byte* inside) noexcept {
  if (std::byte* const place = add(entry))
    std::memcpy(place, inside, static_cast<std::size_t>(room_of(entry)));
}

void Bundle::lose(std::byte* block) noexcept {
  BundleEntry entry;
  std::memcpy(&entry, block - kEntry, sizeof entry);
  if (entry.tag > BundleEntry::kInside) entry.bytes = 0;  // its bytes have no room here
  entry.tag = BundleEntry::kLost;
  std::memcpy(block - kEntry, &entry, sizeof entry);
}

void Bundle::append(const Bundle& other) noexcept {
  const std::int64_t at = bytes();
  const std::int64_t more = other.bytes() - kHead;
  if (at + more > room()) return;
  std::memcpy(memory_.data() + at, other.memory_.data() + kHead, static_cast<std::size_t>(more));
  set_bytes(at + more);
}

}  // namespace strake::exchange
