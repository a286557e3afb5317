/// \file  Operations on values that devices know.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace strake {

enum class ValueOp : std::uint8_t { Sum, Min, Max };
enum class ValueType : std::uint8_t { Float32, Float64, Int32, Int64, UInt32, UInt64 };
struct DeviceCombine {
  ValueOp op = ValueOp::Sum;
  ValueType type = ValueType::Float64;
  friend auto operator<=>(const DeviceCombine&, const DeviceCombine&) = default;
};
/// The name of numbers of type T, as VTK files have it ("Float64"); null: T is no number of up to 8
/// bytes.
template <typename T>
[[nodiscard]] constexpr const char* number_name() noexcept {
  if constexpr (std::is_floating_point_v<T> && sizeof(T) <= 8) {
    return sizeof(T) == 8 ? "Float64" : "Float32";
  } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr bool kSigned = std::is_signed_v<T>;
    if (sizeof(T) == 1) return kSigned ? "Int8" : "UInt8";
    if (sizeof(T) == 2) return kSigned ? "Int16" : "UInt16";
    if (sizeof(T) == 4) return kSigned ? "Int32" : "UInt32";
    return kSigned ? "Int64" : "UInt64";
  } else {
    return nullptr;
  }
}
/// The type of T; nothing if devices combine no such values.
template <typename T>
[[nodiscard]] constexpr std::optional<ValueType> value_type() noexcept {
  if constexpr (std::is_same_v<T, float>) return ValueType::Float32;
  if constexpr (std::is_same_v<T, double>) return ValueType::Float64;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) == 4)
    return std::is_signed_v<T> ? ValueType::Int32 : ValueType::UInt32;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return std::is_signed_v<T> ? ValueType::Int64 : ValueType::UInt64;
  return std::nullopt;
}
[[nodiscard]] constexpr std::int64_t size_of(ValueType type) noexcept {
  const bool four =
      type == ValueType::Float32 || type == ValueType::Int32 || type == ValueType::UInt32;
  return four ? 4 : 8;
}

}  // namespace strake
