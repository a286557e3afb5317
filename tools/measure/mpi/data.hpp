/// \file  Memory for messages, filled with bytes that depend on their sender and their place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "case.hpp"

namespace strake::measure {

/// Byte `i` of what `sender` sends. Neighbours, pages and senders differ.
[[nodiscard]] constexpr std::byte pattern(int sender, std::int64_t i) noexcept {
  const auto at = static_cast<std::uint64_t>(i);
  return static_cast<std::byte>(at * 37 + (at >> 8) * 11 + (at >> 16) * 5 +
                                static_cast<std::uint64_t>(sender) * 101 + 1);
}

inline void fill_pattern(std::byte* data, std::int64_t bytes, int sender) noexcept {
  for (std::int64_t i = 0; i < bytes; ++i) data[i] = pattern(sender, i);
}

/// \throws WrongData  `data` is not what `sender` sends, from its byte `first` on
inline void expect_pattern(const std::byte* data, std::int64_t bytes, int sender,
                           std::int64_t first = 0) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    if (data[i] == pattern(sender, first + i)) continue;
    throw WrongData("byte " + std::to_string(first + i) + " from rank " + std::to_string(sender) +
                    " is " + std::to_string(std::to_integer<int>(data[i])) + ", not " +
                    std::to_string(std::to_integer<int>(pattern(sender, first + i))));
  }
}

/// Whole pages for messages, all touched, from the allocator that a program's arrays come from.
/// (HostMemory of measure/host.hpp is mapped, and may be placed on a NUMA node.)
class MessageMemory {
 public:
  /// \throws std::bad_alloc
  explicit MessageMemory(std::int64_t bytes)
      : bytes_((std::max<std::int64_t>(bytes, 1) + kPage - 1) / kPage * kPage),
        data_(
            static_cast<std::byte*>(std::aligned_alloc(kPage, static_cast<std::size_t>(bytes_)))) {
    if (data_ == nullptr) throw std::bad_alloc();
    std::fill_n(data_.get(), bytes_, kUntouched);
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }

  /// The value of bytes that nothing was written to.
  static constexpr std::byte kUntouched{0xa5};

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { std::free(data); }
  };
  static constexpr std::int64_t kPage = 4096;
  std::int64_t bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace strake::measure
