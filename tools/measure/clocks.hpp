/// \file  Holds the CPU clocks still: governor "performance", no boost, and puts both back.
/// Sources: dissertation 3.2.
#pragma once

#include <string>

namespace strake::measure {

/// From construction to destruction, or to the end of the process by an exception, SIGINT, SIGTERM
/// or SIGHUP. One at a time in a process.
class Clocks {
 public:
  /// \throws nothing for files that are not there or may not be written: summary() says so.
  explicit Clocks(const std::string& root = "/sys/devices/system/cpu");
  ~Clocks();
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;

  /// The changes, for people: "governor performance; boost off", or why one was not made.
  [[nodiscard]] const std::string& summary() const noexcept { return summary_; }

 private:
  std::string summary_;
};

}  // namespace strake::measure
