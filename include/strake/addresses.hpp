/// \file  Where the arrays of an exchange lie, as calls take it.
#pragma once

#include <array>
#include <concepts>
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
  // NOLINTBEGIN(*-explicit-*)
  /// No memory: the array has no transfers.
  Address(std::nullptr_t) noexcept {}
  template <Writable T>
  Address(T* there) noexcept : bytes_(reinterpret_cast<std::byte*>(there)) {}
  /// Refused by the compiler, by a sentence.
  template <typename T>
  requires(std::is_const_v<T> && !std::is_pointer_v<T>) Address(T* /*there*/)
  noexcept {
    static_assert(sizeof(T*) == 0, "an exchange writes into the array: it can't be const");
  }
  // NOLINTEND(*-explicit-*)
  [[nodiscard]] std::byte* bytes() const noexcept { return bytes_; }

 private:
  std::byte* bytes_ = nullptr;
};

/// A pointer to elements; the compiler refuses const ones, by a sentence.
template <typename T>
concept AddressPointer = std::is_pointer_v<T> && std::convertible_to<T, Address>;

/// The addresses of an exchange's arrays, in the order of the arrays' numbers: one pointer, several
/// in braces (`{rho, u}`, of any types), or an array, span or vector of pointers. Pointers to const
/// are refused, since an exchange writes into its arrays. Up to kInPlace addresses cost no
/// allocation, nor do more in a named array or vector of std::byte*, or in a span of them: these
/// must outlive the object.
class Addresses {
 public:
  static constexpr std::size_t kInPlace = 8;  ///< as many fields as most programs have

  /// No arrays.
  Addresses() noexcept = default;
  // NOLINTBEGIN(*-explicit-*)
  template <typename T>
  requires AddressPointer<T*> Addresses(T* one)
  noexcept : few_{Address(one).bytes()}, count_(1) {}
  Addresses(std::initializer_list<Address> several) { copy(several); }
  template <std::ranges::contiguous_range Several>
  requires std::ranges::sized_range<Several> && AddressPointer<std::ranges::range_value_t<Several>>
  Addresses(Several&& several) {
    using Pointer = std::ranges::range_value_t<Several>;
    if constexpr (std::same_as<Pointer, std::byte*> && std::ranges::borrowed_range<Several>) {
      given_ = {std::ranges::data(several), std::ranges::size(several)};
    } else {
      copy(std::span<const Pointer>(std::ranges::data(several), std::ranges::size(several)));
    }
  }
  // NOLINTEND(*-explicit-*)
  [[nodiscard]] std::span<std::byte* const> all() const noexcept {
    if (count_ == 0) return given_;
    return {count_ <= kInPlace ? few_.data() : many_.data(), count_};
  }

 private:
  template <typename Several>
  void copy(const Several& several) {
    count_ = several.size();
    if (count_ > kInPlace) many_.resize(count_);
    std::byte** to = count_ > kInPlace ? many_.data() : few_.data();
    for (const Address one : several) *to++ = one.bytes();
  }

  std::array<std::byte*, kInPlace> few_{};  ///< the addresses, if there are at most as many
  std::vector<std::byte*> many_;            ///< the addresses, if there are more
  std::size_t count_ = 0;                   ///< of addresses in few_ or many_
  std::span<std::byte* const> given_;       ///< counts if count_ is 0
};

}  // namespace strake
