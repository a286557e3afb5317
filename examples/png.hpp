/// \file  Pictures as PNG files, without a library: rows are stored, not compressed.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace png {

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

/// 0 is blue, 0.5 white, 1 red.
inline Colour blue_white_red(double value) {
  const double at = value < 0 ? 0 : value > 1 ? 1 : value;
  const auto faded = static_cast<std::uint8_t>(255 * (at < 0.5 ? 2 * at : 2 - 2 * at) + 0.5);
  return at < 0.5 ? Colour{faded, faded, 255} : Colour{255, faded, faded};
}

inline std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes += static_cast<char>(number >> shift & 0xFFU);
  return bytes;
}

inline std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

inline std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<std::uint8_t>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16U | a;
}

/// As zlib has it: blocks of up to 65535 bytes that are stored.
inline std::string stored(std::string_view bytes) {
  constexpr std::size_t kMost = 65535;
  std::string made = "\x78\x01";
  for (std::size_t at = 0; at < bytes.size(); at += kMost) {
    const std::string_view block = bytes.substr(at, kMost);
    made += at + kMost >= bytes.size() ? '\1' : '\0';  // whether it is the last one
    for (const std::size_t length : {block.size(), ~block.size()}) {
      made += static_cast<char>(length & 0xFFU);
      made += static_cast<char>(length >> 8U & 0xFFU);
    }
    made += block;
  }
  return made + big_endian(adler32(bytes));
}

/// The bytes of a file. Pixels go row by row from the top.
inline std::string bytes(const std::vector<Colour>& pixels, std::size_t width) {
  std::string rows;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (i % width == 0) rows += '\0';  // no filter
    for (const std::uint8_t part : pixels[i]) rows += static_cast<char>(part);
  }
  std::string made = "\x89PNG\r\n\x1A\n";
  const auto chunk = [&](const std::string& name, const std::string& content) {
    made += big_endian(static_cast<std::uint32_t>(content.size())) + name + content;
    made += big_endian(crc32(name + content));
  };
  constexpr char kEightBitsRgb[] = "\x08\x02\x00\x00\x00";
  chunk("IHDR", big_endian(static_cast<std::uint32_t>(width)) +
                    big_endian(static_cast<std::uint32_t>(pixels.size() / width)) +
                    std::string(kEightBitsRgb, 5));
  chunk("IDAT", stored(rows));
  chunk("IEND", "");
  return made;
}

/// False: the file can't be written.
inline bool write(const std::string& path, const std::vector<Colour>& pixels, std::size_t width) {
  std::ofstream file(path, std::ios::binary);
  file << bytes(pixels, width);
  file.close();
  return !file.fail();
}

}  // namespace png
