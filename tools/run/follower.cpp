#include "follower.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>

namespace strake::run {
namespace {

bool write_all(int to, const char* data, ssize_t size) {
  while (size > 0) {
    const ssize_t written = write(to, data, static_cast<std::size_t>(size));
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) {
      data += written;
      size -= written;
    }
  }
  return true;
}

/// A thread that takes no signal: those are for the job's own thread.
std::thread without_signals(const std::function<void()>& work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(work);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Follower::Follower(const std::string& file, int to)
    : from_(open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600)),
      to_(to),
      thread_(without_signals([this] { follow(); })) {}

Follower::~Follower() {
  ended_ = true;
  thread_.join();
  if (from_ >= 0) close(from_);
}

void Follower::follow() {
  while (!ended_) {
    pass_on();
    // Too seldom to take time from the job.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  pass_on();
}

void Follower::pass_on() {
  std::array<char, 1 << 16> part{};
  while (to_ >= 0 && from_ >= 0) {
    const ssize_t got = read(from_, part.data(), part.size());
    if (got <= 0) return;
    if (!write_all(to_, part.data(), got)) to_ = -1;
  }
}

}  // namespace strake::run
