/// \file  How values that come back in a reverse exchange are combined with those that are there.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "strake/value_op.hpp"

namespace strake {

/// How received values merge with those that are there: `combine(there, came, bytes)` for each
/// contiguous block. An empty Combine overwrites.
class Combine {
 public:
  using Bytes = std::function<void(std::byte* there, const std::byte* came, std::int64_t bytes)>;

  Combine() = default;
  template <std::invocable<std::byte*, const std::byte*, std::int64_t> How>
  requires(!std::same_as<std::remove_cvref_t<How>, Combine>)
      Combine(How&& how)  // NOLINT(google-explicit-constructor): a functor is one
      : bytes_(std::forward<How>(how)) {}
  /// Merges by `how` in host memory, and by `on_device` in a device's.
  /// \param numbers  that it merges (number_name()); null: not known
  Combine(Bytes how, std::optional<DeviceCombine> on_device, const char* numbers = nullptr)
      : bytes_(std::move(how)), on_device_(on_device), numbers_(numbers) {}

  explicit operator bool() const noexcept { return bool{bytes_}; }
  void operator()(std::byte* there, const std::byte* came, std::int64_t bytes) const {
    bytes_(there, came, bytes);
  }
  /// Returns nullopt if the operation runs on host memory only.
  [[nodiscard]] const std::optional<DeviceCombine>& on_device() const noexcept {
    return on_device_;
  }
  /// The numbers that it merges (number_name()); null: any, or not known.
  [[nodiscard]] const char* numbers() const noexcept { return numbers_; }

 private:
  Bytes bytes_;
  std::optional<DeviceCombine> on_device_;
  const char* numbers_ = nullptr;
};

/// Merges elements of type T in host memory: each becomes `op(there, came)`. Blocks of the layouts
/// are whole elements, aligned.
template <typename T, typename Op>
[[nodiscard]] Combine combine_with(Op op, std::optional<DeviceCombine> on_device = std::nullopt) {
  return {[op](std::byte* there, const std::byte* came, std::int64_t bytes) {
            auto* const to = reinterpret_cast<T*>(there);
            const auto* const from = reinterpret_cast<const T*>(came);
            for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(T)); ++i)
              to[i] = op(to[i], from[i]);
          },
          on_device, number_name<T>()};
}
/// \{ Sum, least, greatest of elements of type T. On devices of float, double, and integers of 4
/// and 8 bytes.
template <typename T>
[[nodiscard]] Combine sum() {
  std::optional<DeviceCombine> on_device;
  if (value_type<T>()) on_device = {ValueOp::Sum, *value_type<T>()};
  return combine_with<T>([](const T& a, const T& b) { return static_cast<T>(a + b); }, on_device);
}
template <typename T>
[[nodiscard]] Combine min() {
  std::optional<DeviceCombine> on_device;
  if (value_type<T>()) on_device = {ValueOp::Min, *value_type<T>()};
  return combine_with<T>([](const T& a, const T& b) { return b < a ? b : a; }, on_device);
}
template <typename T>
[[nodiscard]] Combine max() {
  std::optional<DeviceCombine> on_device;
  if (value_type<T>()) on_device = {ValueOp::Max, *value_type<T>()};
  return combine_with<T>([](const T& a, const T& b) { return a < b ? b : a; }, on_device);
}
/// \}
/// Received values overwrite those that are there.
[[nodiscard]] inline Combine replace() { return {}; }

}  // namespace strake
