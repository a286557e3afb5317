/// \file  Receives the letters (job/report.hpp) of a job's processes on this machine.
#pragma once

#include <set>
#include <string>

#include "job/directory.hpp"
#include "job/report.hpp"

namespace strake::run {

/// Receives the job's letters as long as it exists.
class JobReport {
 public:
  /// Makes the job's directory. Where none can be made, no letter ever comes; the log says so.
  explicit JobReport(const std::string& id);
  /// The letters that have come so far, from processes of this user.
  [[nodiscard]] std::set<job::Letter> letters() const;

 private:
  job::Directory directory_;
};

}  // namespace strake::run
