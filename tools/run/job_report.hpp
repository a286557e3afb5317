/// \file  What the processes of a job on this machine tell `strake run`.
#pragma once

#include <map>
#include <set>
#include <string>

#include "job/report.hpp"

namespace strake::run {

/// Takes the job's letters, from its making on. Leaves nothing behind, however this process ends.
class JobReport {
 public:
  /// Where the kernel gives no socket, no letter ever comes.
  explicit JobReport(const std::string& id);
  ~JobReport();
  JobReport(const JobReport&) = delete;
  JobReport& operator=(const JobReport&) = delete;
  /// Those that have come so far, from processes of this user.
  [[nodiscard]] const std::set<job::Letter>& letters();

 private:
  std::map<job::Letter, int> sockets_;
  std::set<job::Letter> letters_;
};

}  // namespace strake::run
