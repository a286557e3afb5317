/// \file  Names outside of the file system, and numbers for them.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace strake::job {

/// FNV-1a.
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

/// The address of a socket with a name outside of the file system: it goes with the socket.
struct Address {
  sockaddr_un name{};
  socklen_t size = 0;  ///< 0: the name is too long

  explicit Address(std::string_view text) noexcept {
    name.sun_family = AF_UNIX;
    // The leading zero makes it a name outside of the file system.
    if (text.size() + 1 > sizeof(name.sun_path)) return;
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&name);
  }
};

}  // namespace strake::job
