/// \file  Receives the letters (job/report.hpp) of a job's processes on this machine.
#pragma once

#include <map>
#include <set>
#include <string>

#include "job/report.hpp"

namespace strake::run {

/// Receives the job's letters as long as it exists. Leaves nothing behind, however this process
/// ends.
class JobReport {
 public:
  /// If the kernel gives no socket, no letter ever comes.
  explicit JobReport(const std::string& id);
  ~JobReport();
  JobReport(const JobReport&) = delete;
  JobReport& operator=(const JobReport&) = delete;
  /// The letters that have come so far, from processes of this user.
  [[nodiscard]] const std::set<job::Letter>& letters();

 private:
  std::map<job::Letter, int> sockets_;
  std::set<job::Letter> letters_;
};

}  // namespace strake::run
