/// \file  Where the arrays of an exchange lie, as calls take it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

namespace strake {

/// Elements that an exchange may write.
template <typename T>
concept Writable = !std::is_const_v<T> && !std::is_volatile_v<T> && !std::is_pointer_v<T> &&
                   !std::is_function_v<T>;

/// An address of memory that may be written, whatever its elements are.
class Address {
 public:
  /// No memory: the array has no transfers.
  Address(std::nullptr_t) noexcept {}  // NOLINT(*-explicit-*)
  template <Writable T>
  Address(T* there) noexcept  // NOLINT(*-explicit-*)
      : bytes_(reinterpret_cast<std::byte*>(there)) {}
  [[nodiscard]] std::byte* bytes() const noexcept { return bytes_; }

 private:
  std::byte* bytes_ = nullptr;
};

/// The addresses of an exchange's arrays, in the order of the arrays' numbers: one pointer, several
/// in braces (`{rho, u}`, of any types), or an array, span or vector of pointers. Pointers to const
/// are refused, since an exchange writes into its arrays. The object lives no longer than the call.
/// One pointer, and pointers to std::byte, cost no allocation.
class Addresses {
 public:
  /// No arrays.
  Addresses() noexcept = default;
  // NOLINTBEGIN(*-explicit-*)
  template <Writable T>
  Addresses(T* one) noexcept : one_(Address(one).bytes()), is_one_(true) {}
  Addresses(std::initializer_list<Address> several) {
    own_.reserve(several.size());
    for (const Address& one : several) own_.push_back(one.bytes());
  }
  template <std::ranges::contiguous_range Several>
  requires std::is_pointer_v<std::ranges::range_value_t<Several>> &&
      Writable<std::remove_pointer_t<std::ranges::range_value_t<Several>>>
      Addresses(const Several& several) {
    if constexpr (std::is_same_v<std::ranges::range_value_t<Several>, std::byte*>) {
      given_ = {std::ranges::data(several), std::ranges::size(several)};
    } else {
      own_.reserve(std::ranges::size(several));
      for (const auto one : several) own_.push_back(Address(one).bytes());
    }
  }
  // NOLINTEND(*-explicit-*)
  [[nodiscard]] std::span<std::byte* const> all() const noexcept {
    if (is_one_) return {&one_, 1};
    return own_.empty() ? given_ : std::span<std::byte* const>(own_);
  }

 private:
  std::byte* one_ = nullptr;  ///< counts if is_one_
  bool is_one_ = false;
  std::vector<std::byte*> own_;
  std::span<std::byte* const> given_;  ///< counts if there is none of the others
};

}  // namespace strake
