#include "job_report.hpp"

#include <sys/socket.h>
#include <unistd.h>

namespace strake::run {
namespace {

/// One connection per letter is enough. The queue is longer so that another user's connection does
/// not fill it.
constexpr int kWaiting = 64;

bool is_of_this_user(int caller) {
  ucred who{};
  socklen_t size = sizeof(who);
  return getsockopt(caller, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

}  // namespace

JobReport::JobReport(const std::string& id) {
  for (const job::Letter letter : job::kLetters) {
    const job::Address address = job::address_of(id, letter);
    const int fd = job::letter_socket();
    if (fd < 0) continue;
    sockets_[letter] = fd;
    if (bind(fd, address.get(), address.size) == 0) (void)listen(fd, kWaiting);
  }
}

JobReport::~JobReport() {
  for (const auto& [letter, fd] : sockets_) close(fd);
}

const std::set<job::Letter>& JobReport::letters() {
  for (const auto& [letter, fd] : sockets_) {
    for (int caller = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC); caller >= 0;
         caller = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC)) {
      if (is_of_this_user(caller)) letters_.insert(letter);
      close(caller);
    }
  }
  return letters_;
}

}  // namespace strake::run
