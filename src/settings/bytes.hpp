/// \file  Numbers and numbers of bytes, as settings have them. Uses only the C library.
#pragma once

#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace strake::settings {

/// Nothing: the text is no whole number.
[[nodiscard]] inline std::optional<std::int64_t> parse_number(std::string_view text) noexcept {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "64K", "1M", "2G", "512": bytes, with binary multiples. Nothing if it is no such text, or 2^63
/// and more.
[[nodiscard]] inline std::optional<std::int64_t> parse_bytes(std::string_view text) noexcept {
  int shift = 0;
  if (!text.empty()) {
    switch (std::toupper(static_cast<unsigned char>(text.back()))) {
      case 'K':
        shift = 10;
        break;
      case 'M':
        shift = 20;
        break;
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
  }
  if (shift != 0) text.remove_suffix(1);
  const auto value = parse_number(text);
  if (!value || *value < 0 || *value > (std::numeric_limits<std::int64_t>::max() >> shift))
    return std::nullopt;
  return *value << shift;
}

}  // namespace strake::settings
