/// \file  Passes on what a job writes to a file, while it writes it.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace strake::run {

class Follower {
 public:
  /// `to`: a descriptor. If it can't be written, nothing more is passed on.
  Follower(const std::string& file, int to);
  /// Passes on the rest.
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

 private:
  void follow();
  void pass_on();

  int from_;
  int to_;  ///< negative once it can't be written
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace strake::run
