#include "memory/sharing/descriptor_socket.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::sharing {
namespace {

/// The ancillary data of one message: descriptors, and who sent it.
union Ancillary {
  cmsghdr aligned;
  char room[CMSG_SPACE(DescriptorSocket::kMostDescriptors * sizeof(int)) +
            CMSG_SPACE(sizeof(ucred))];
};

/// A socket's address. It leads through the directory's descriptor: the path is short, and nobody
/// can put another directory there.
struct Address {
  sockaddr_un name{};
  socklen_t size = sizeof(sockaddr_un);  ///< 0: the name is too long

  Address(const job::Directory& directory, const char* text) noexcept {
    name.sun_family = AF_UNIX;
    const int length = std::snprintf(name.sun_path, sizeof(name.sun_path),
                                     "/proc/thread-self/fd/%d/%s", directory.descriptor(), text);
    if (length >= static_cast<int>(sizeof(name.sun_path))) size = 0;
  }
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&name);
  }
};

/// Descriptors that one thread closes, as long as there are any.
struct ToClose {
  std::mutex mutex;
  std::vector<FileDescriptor> all;
  bool closing = false;

  void run() {
    for (;;) {
      std::vector<FileDescriptor> some;  // closed without the lock
      const std::lock_guard lock(mutex);
      if (all.empty()) {
        closing = false;
        return;
      }
      some.swap(all);
    }
  }
};

/// Never waits. Where there can be no thread, the descriptor stays open until there can be one.
void close_elsewhere(FileDescriptor one) noexcept {
  ToClose& to_close = ProcessState::part<ToClose>();
  const std::lock_guard lock(to_close.mutex);
  to_close.all.push_back(std::move(one));
  if (std::exchange(to_close.closing, true)) return;
  // The application's signals are none of that thread's.
  sigset_t every;
  sigset_t before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  try {
    std::thread([&to_close] { to_close.run(); }).detach();
  } catch (const std::system_error&) {
    to_close.closing = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

FileDescriptor datagram_socket() {
  return FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

DescriptorSocket::DescriptorSocket(SharedDirectory directory, const char* name)
    : directory_(std::move(directory)), name_(name), owner_(getpid()), socket_(datagram_socket()) {
  const Address address(*directory_, name);
  const int yes = 1;
  if (socket_.get() < 0 || address.size == 0 ||
      setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) != 0 ||
      bind(socket_.get(), address.get(), address.size) != 0) {
    throw Unsupported(fmt::format("there can be no socket named '{}': {}", name_,
                                  address.size == 0 ? "too long" : std::strerror(errno)));
  }
}

DescriptorSocket::~DescriptorSocket() { retire(); }

void DescriptorSocket::retire() noexcept {
  if (getpid() == owner_ && directory_ != nullptr)
    (void)unlinkat(directory_->descriptor(), name_.c_str(), 0);
  directory_.reset();
}

DescriptorSocket::Sent DescriptorSocket::send(const char* to, std::span<const std::byte> message,
                                              std::span<const int> descriptors,
                                              const job::Directory* in) const noexcept {
  if (directory_ == nullptr) return Sent::NoReceiver;
  Address address(in != nullptr ? *in : *directory_, to);
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
  return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS
             ? Sent::Full
             : Sent::NoReceiver;
}

bool DescriptorSocket::has_died(const char* name, const job::Directory* in) const noexcept {
  if (directory_ == nullptr) return false;
  if (in == nullptr) in = directory_.get();
  const Address address(*in, name);
  const FileDescriptor probe = datagram_socket();
  if (probe.get() < 0 || connect(probe.get(), address.get(), address.size) == 0 ||
      errno != ECONNREFUSED)
    return false;
  // A process that closes its socket takes its name away before.
  return in->has(name);
}

DescriptorSocket::Received::~Received() {
  for (FileDescriptor& one : descriptors)
    if (one.get() >= 0 && !is_of_memory(one.get())) close_elsewhere(std::move(one));
}

std::vector<int> DescriptorSocket::Received::numbers() const {
  std::vector<int> all;
  for (const FileDescriptor& descriptor : descriptors) all.push_back(descriptor.get());
  return all;
}

std::optional<DescriptorSocket::Received> DescriptorSocket::receive() const {
  // Whoever sends without end holds nobody up.
  constexpr int kMostDropped = 64;
  for (int dropped = 0; dropped < kMostDropped;) {
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
    if (!whole || sender.uid != getuid() || sender.gid != getgid() ||
        received.descriptors.empty()) {
      ++dropped;
      continue;
    }
    received.message.assign(message.begin(), message.begin() + bytes);
    return received;
  }
  return std::nullopt;
}

}  // namespace strake::sharing
