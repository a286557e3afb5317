/// \file  A bundle: what one message says of, and carries for, several blocks of a collective call
/// of neighbours. For each block it has an entry, behind which its bytes lie, or which names the
/// message that carries them. The sender of a block alone chooses which (decision 28). Nothing here
/// knows how a bundle travels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace strake::exchange {

/// Tells of one block.
struct BundleEntry {
  /// \{ Values of `tag`; others: MPI carries the bytes in a message with that tag.
  static constexpr std::int32_t kInside = 0;  ///< its bytes follow
  static constexpr std::int32_t kLost = -1;   ///< its sender has failed
  /// \}
  std::int32_t to = 0;     ///< rank in the communicator
  std::int32_t from = 0;   ///< as `to`
  std::uint32_t edge = 0;  ///< as shared::CellName's
  std::int32_t tag = kInside;
  std::int64_t bytes = 0;
};

class Bundle {
 public:
  /// Longest block that lies in a bundle. A message of MPI's between nodes costs each end about a
  /// microsecond; copying 1 KiB in and out, and twice more by relays, costs a fifth of that.
  /// [bytes]
  static constexpr std::int64_t kMostInside = 1024;
  /// All blocks of one sender in a bundle, at most: MPI libraries send so much at once. [bytes]
  static constexpr std::int64_t kCapacity = 16 << 10;
  /// The most room that so many entries of so many senders take. [bytes]
  [[nodiscard]] static constexpr std::int64_t room_for(std::int64_t entries,
                                                       std::int64_t senders = 1) noexcept {
    return kHead + entries * kEntry + std::min(entries * kMostInside, senders * kCapacity);
  }
  /// The room that a block takes behind its entry. [bytes]
  [[nodiscard]] static constexpr std::int64_t padded(std::int64_t bytes) noexcept {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// Empty. \param room  as room_for() says \throws std::bad_alloc
  explicit Bundle(std::int64_t room) : memory_(static_cast<std::size_t>(std::max(room, kHead))) {
    clear(0);
  }
  /// Empty, of that call.
  void clear(std::uint32_t call) noexcept {
    set_bytes(kHead);
    std::memcpy(memory_.data() + sizeof(std::int64_t), &call, sizeof call);
  }
  /// The call that it is of, as it says itself.
  [[nodiscard]] std::uint32_t call() const noexcept {
    std::uint32_t said = 0;
    std::memcpy(&said, memory_.data() + sizeof(std::int64_t), sizeof said);
    return said;
  }
  /// The length of all entries; of a bundle that has come, as it says itself, if that fits. [bytes]
  [[nodiscard]] std::int64_t bytes() const noexcept;
  [[nodiscard]] std::int64_t room() const noexcept {
    return static_cast<std::int64_t>(memory_.size());
  }
  [[nodiscard]] std::byte* data() noexcept { return memory_.data(); }

  /// Adds an entry, and returns the room for its bytes, if it is one with bytes inside; null: there
  /// is no room, and nothing was added.
  std::byte* add(const BundleEntry& entry) noexcept;
  /// Adds an entry and its bytes, as for_each() gives them, if there is room.
  void add(const BundleEntry& entry, const std::byte* inside) noexcept;
  /// The block whose room that is will not come.
  static void lose(std::byte* block) noexcept;
  /// Adds all entries of another one, as far as there is room.
  void append(const Bundle& other) noexcept;
  /// Calls `act(entry, bytes)` for each entry.
  template <typename Act>
  void for_each(const Act& act) const {
    const std::int64_t end = bytes();
    for (std::int64_t at = kHead; at + kEntry <= end;) {
      BundleEntry entry;
      std::memcpy(&entry, memory_.data() + at, sizeof entry);
      at += kEntry;
      const std::int64_t inside = room_of(entry);
      if (inside < 0 || inside > end - at) return;
      act(static_cast<const BundleEntry&>(entry), memory_.data() + at);
      at += inside;
    }
  }

 private:
  static constexpr std::int64_t kAlignment = 8;
  static constexpr std::int64_t kHead = 16;  ///< the bytes of all, itself too; the call
  static constexpr std::int64_t kEntry = sizeof(BundleEntry);
  static_assert(kEntry % kAlignment == 0 && kMostInside % kAlignment == 0);
  /// A lost block keeps its room.
  [[nodiscard]] static constexpr std::int64_t room_of(const BundleEntry& entry) noexcept {
    if (entry.tag > BundleEntry::kInside) return 0;
    return entry.bytes < 0 || entry.bytes > kMostInside ? -1 : padded(entry.bytes);
  }
  void set_bytes(std::int64_t bytes) noexcept { std::memcpy(memory_.data(), &bytes, sizeof bytes); }

  std::vector<std::byte> memory_;
};

}  // namespace strake::exchange
