/// \file  Hands descriptors to other processes of the same user on this machine. A socket has a
/// name outside of the file system, which goes with its process. Nobody needs to listen: what was
/// sent waits, also after its sender's end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/sharing/descriptor.hpp"

namespace strake::sharing {

class DescriptorSocket {
 public:
  /// \throws Unsupported  the name is taken or too long, or no socket is left
  explicit DescriptorSocket(const std::string& name);

  /// [bytes] Longer messages are cut off.
  static constexpr std::size_t kLongestMessage = 2048;
  /// In a message; there is one at least.
  static constexpr std::size_t kMostDescriptors = 128;
  enum class Sent : std::uint8_t { Yes, NoReceiver, Full };
  /// Never waits. NoReceiver: there is no such socket on this machine, in this network namespace,
  /// or of this user.
  [[nodiscard]] Sent send(const std::string& to, std::span<const std::byte> message,
                          std::span<const int> descriptors) const noexcept;

  struct Received {
    std::vector<std::byte> message;
    std::vector<Descriptor> descriptors;
    [[nodiscard]] std::vector<int> numbers() const;
    pid_t process = 0;  ///< as this process sees it; 0: it is in another namespace
  };
  /// What waits, from processes of the same user: all else is dropped. Nothing if nothing waits.
  [[nodiscard]] std::optional<Received> receive() const;

 private:
  Descriptor socket_;
};

}  // namespace strake::sharing
