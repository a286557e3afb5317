#include "memory/sharing/descriptor_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "job/names.hpp"
#include "strake/error.hpp"

namespace strake::sharing {
namespace {

/// The ancillary data of one message: descriptors, and who sent it.
union Ancillary {
  cmsghdr aligned;
  char room[CMSG_SPACE(DescriptorSocket::kMostDescriptors * sizeof(int)) +
            CMSG_SPACE(sizeof(ucred))];
};

}  // namespace

DescriptorSocket::DescriptorSocket(const std::string& name)
    : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const job::Address address(name);
  const int yes = 1;
  if (socket_.get() < 0 || address.size == 0 ||
      setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) != 0 ||
      bind(socket_.get(), address.get(), address.size) != 0) {
    throw Unsupported(fmt::format("there can be no socket named '{}': {}", name,
                                  address.size == 0 ? "too long" : std::strerror(errno)));
  }
}

DescriptorSocket::Sent DescriptorSocket::send(const std::string& to,
                                              std::span<const std::byte> message,
                                              std::span<const int> descriptors) const noexcept {
  job::Address address(to);
  if (address.size == 0 || descriptors.empty() || descriptors.size() > kMostDescriptors)
    return Sent::NoReceiver;
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  Ancillary ancillary{};
  msghdr header{};
  header.msg_name = &address.name;
  header.msg_namelen = address.size;
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = ancillary.room;
  header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Sent::Yes;
  return errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS ? Sent::Full
                                                                      : Sent::NoReceiver;
}

std::vector<int> DescriptorSocket::Received::numbers() const {
  std::vector<int> all;
  for (const Descriptor& descriptor : descriptors) all.push_back(descriptor.get());
  return all;
}

std::optional<DescriptorSocket::Received> DescriptorSocket::receive() const {
  for (;;) {
    std::array<std::byte, kLongestMessage> message;
    iovec part{message.data(), message.size()};
    Ancillary ancillary{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = ancillary.room;
    header.msg_controllen = sizeof(ancillary.room);
    const ssize_t bytes = recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return std::nullopt;
    Received received;
    ucred sender{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
    for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
      if (at->cmsg_level != SOL_SOCKET) continue;
      if (at->cmsg_type == SCM_RIGHTS) {
        for (std::size_t i = 0; i < (at->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
          int descriptor = -1;
          std::memcpy(&descriptor, CMSG_DATA(at) + i * sizeof(int), sizeof(descriptor));
          received.descriptors.emplace_back(descriptor);
        }
      } else if (at->cmsg_type == SCM_CREDENTIALS) {
        std::memcpy(&sender, CMSG_DATA(at), sizeof(sender));
      }
    }
    const bool whole = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    if (!whole || sender.uid != geteuid() || received.descriptors.empty()) continue;
    received.message.assign(message.begin(), message.begin() + bytes);
    received.process = sender.pid;
    return received;
  }
}

}  // namespace strake::sharing
