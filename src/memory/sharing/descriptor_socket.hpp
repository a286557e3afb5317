/// \file  Hands descriptors to other processes of a job on this machine. A socket has its name in a
/// private directory, which no other user's process can enter. Nobody needs to listen: what was
/// sent waits, also after its sender's end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/sharing/descriptor.hpp"
#include "memory/sharing/directories.hpp"

namespace strake::sharing {

/// The name of a socket in its directory. Takes no memory from the heap.
struct SocketName {
  char text[48] = {};
};

class DescriptorSocket {
 public:
  /// \param name  in `directory`, of this socket; goes with it
  /// \throws Unsupported  the name is taken or too long, or no socket is left
  DescriptorSocket(SharedDirectory directory, const char* name);
  ~DescriptorSocket();
  DescriptorSocket(const DescriptorSocket&) = delete;
  DescriptorSocket& operator=(const DescriptorSocket&) = delete;

  /// [bytes] Longer messages are cut off.
  static constexpr std::size_t kLongestMessage = 2048;
  /// In a message; there is one at least.
  static constexpr std::size_t kMostDescriptors = 128;
  enum class Sent : std::uint8_t { Yes, NoReceiver, Full };
  /// Never waits. NoReceiver: there is no such socket in the directory.
  /// \param in  the receiver's directory; null: this socket's
  [[nodiscard]] Sent send(const char* to, std::span<const std::byte> message,
                          std::span<const int> descriptors,
                          const job::Directory* in = nullptr) const noexcept;
  /// Whether the process that has the socket of that name has ended without taking the name away,
  /// as one does that is killed: also a zombie. False where that is not known. Four system calls,
  /// ~3 us.
  [[nodiscard]] bool has_died(const char* name, const job::Directory* in = nullptr) const noexcept;
  /// Takes the name away, and leaves the directory: nothing is sent any more, and no more will
  /// come.
  void retire() noexcept;

  struct Received {
    Received() = default;
    /// Closes the descriptors. Those that are not of memory a thread of its own closes.
    ~Received();
    Received(Received&&) noexcept = default;
    Received& operator=(Received&&) = delete;
    std::vector<std::byte> message;
    std::vector<FileDescriptor> descriptors;
    [[nodiscard]] std::vector<int> numbers() const;
  };
  /// The next message from a process of this user and group. Drops others. Nothing if none waits,
  /// or 64 were dropped.
  [[nodiscard]] std::optional<Received> receive() const;

 private:
  SharedDirectory directory_;  ///< null once retired
  std::string name_;
  pid_t owner_;  ///< children of fork() leave the name
  FileDescriptor socket_;
};

}  // namespace strake::sharing
