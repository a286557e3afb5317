/// \file  Choices made before, by everything that they depend on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "exchange/method.hpp"

namespace strake::exchange {

/// Open addressing over slots that are written once and never removed, so a reader needs no lock:
/// it sees a slot whole or not at all. Threads may share one cache. When it is full, what is not in
/// it is chosen anew each time. 1 MiB, of which the pages in use take memory.
class ChoiceCache {
 public:
  /// ~5 ns.
  [[nodiscard]] std::optional<Choice> find(const Message& message) const noexcept {
    const std::uint32_t traits = traits_of(message);
    std::size_t at = slot_of(message, traits);
    for (int probe = 0; probe < kProbes; ++probe, at = (at + 1) % kSlots) {
      const Slot& slot = slots_[at];
      const std::uint64_t word = slot.word.load(std::memory_order_acquire);
      if (word == 0) return std::nullopt;
      if (word != kBusy && word >> 32 == traits && slot.bytes == message.bytes &&
          slot.blocks == message.blocks && slot.pitch == message.pitch) {
        return Choice{static_cast<Method>(word >> 8 & 0xff), static_cast<Reason>(word & 0xff)};
      }
    }
    return std::nullopt;
  }

  /// Two threads may insert one transfer twice; both slots tell the same.
  void insert(const Message& message, Choice choice) noexcept {
    const std::uint32_t traits = traits_of(message);
    if (traits == kDoesNotFit) return;
    std::size_t at = slot_of(message, traits);
    for (int probe = 0; probe < kProbes; ++probe, at = (at + 1) % kSlots) {
      Slot& slot = slots_[at];
      std::uint64_t word = 0;
      if (!slot.word.compare_exchange_strong(word, kBusy, std::memory_order_acquire)) continue;
      slot.bytes = message.bytes;
      slot.blocks = message.blocks;
      slot.pitch = message.pitch;
      slot.word.store(std::uint64_t{traits} << 32 | kTaken |
                          static_cast<std::uint64_t>(choice.method) << 8 |
                          static_cast<std::uint64_t>(choice.reason),
                      std::memory_order_release);
      return;
    }
  }

 private:
  struct alignas(32) Slot {
    std::atomic<std::uint64_t> word{0};  ///< 0: free; else traits, kTaken, method, reason
    std::int64_t bytes = 0;
    std::int64_t blocks = 0;
    std::int64_t pitch = 0;
  };
  // Three times the 10,000 different messages that a large application may send.
  static constexpr std::size_t kSlots = std::size_t{1} << 15;
  // With 10,000 keys hardly one lies further from its place; a cache line holds two slots.
  static constexpr int kProbes = 16;
  static constexpr std::uint64_t kTaken = 1U << 16;
  static constexpr std::uint64_t kBusy = 1;  ///< being written: not taken, and not free
  static constexpr std::uint32_t kDoesNotFit = UINT32_MAX;

  /// All that is not 64 bits wide.
  static std::uint32_t traits_of(const Message& message) noexcept {
    constexpr std::int32_t kDevices = 1 << 16;
    const std::int32_t device = message.place.device + 1;
    if (device < 0 || device >= kDevices) return kDoesNotFit;
    return static_cast<std::uint32_t>(device) << 8 |
           static_cast<std::uint32_t>(message.place.kind) << 6 |
           static_cast<std::uint32_t>(message.spread) << 4 |
           static_cast<std::uint32_t>(message.direction) << 3 |
           static_cast<std::uint32_t>(message.dense) << 2 |
           static_cast<std::uint32_t>(message.nonblocking) << 1;
  }

  static std::size_t slot_of(const Message& message, std::uint32_t traits) noexcept {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
    std::uint64_t hash = static_cast<std::uint64_t>(message.bytes) * kOdd;
    hash = (hash ^ hash >> 32 ^ static_cast<std::uint64_t>(message.blocks)) * kOdd;
    hash = (hash ^ hash >> 32 ^ static_cast<std::uint64_t>(message.pitch)) * kOdd;
    hash = (hash ^ hash >> 32 ^ traits) * kOdd;
    return hash >> (64 - 15);
  }

  std::array<Slot, kSlots> slots_{};
};

}  // namespace strake::exchange
