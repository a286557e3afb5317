/// \file  A map from the handles of a library to what is known of them, for calls of a few
/// nanoseconds: nothing is allocated but by growth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace strake {

/// Open addressing, at most half full. A pointer to a value is valid until the next add() or
/// erase().
template <typename Value>
class HandleMap {
 public:
  /// Null if there is none.
  [[nodiscard]] Value* find(std::uint64_t key) noexcept {
    Slot& slot = slots_[place_of(key)];
    return slot.used ? &slot.value : nullptr;
  }
  /// The value of `key`, a new one if there is none. \throws std::bad_alloc
  Value& add(std::uint64_t key) {
    std::size_t at = place_of(key);
    if (!slots_[at].used) {
      if (2 * (size_ + 1) > slots_.size()) {
        grow();
        at = place_of(key);
      }
      slots_[at].key = key;
      slots_[at].used = true;
      ++size_;
    }
    return slots_[at].value;
  }
  void erase(std::uint64_t key) noexcept {
    std::size_t hole = place_of(key);
    if (!slots_[hole].used) return;
    --size_;
    // Each slot behind the hole moves up, where that brings it nearer to its home.
    for (std::size_t at = next(hole); slots_[at].used; at = next(at)) {
      const std::size_t distance = (at - home_of(slots_[at].key)) & mask();
      if (distance < ((at - hole) & mask())) continue;
      slots_[hole] = std::move(slots_[at]);
      hole = at;
    }
    slots_[hole] = Slot{};
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    bool used = false;
    Value value{};
  };
  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }
  [[nodiscard]] std::size_t home_of(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> 32) & mask();
  }
  /// The slot in which `key` is, or would be.
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const noexcept {
    std::size_t at = home_of(key);
    while (slots_[at].used && slots_[at].key != key) at = next(at);
    return at;
  }
  void grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (Slot& slot : before) {
      if (slot.used) slots_[place_of(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(256);
  std::size_t size_ = 0;
};

}  // namespace strake
