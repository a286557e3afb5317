#include "job_report.hpp"

#include <fmt/format.h>

#include <cstring>

#include "settings/log.hpp"

namespace strake::run {

JobReport::JobReport(const std::string& id) : directory_(job::Directory::join(job::hash_of(id))) {
  if (directory_.is_open()) return;
  log::warn("no directory for this job's processes ({}: {}): its ranks share no memory",
            directory_.path(), std::strerror(directory_.error()));
}

std::set<job::Letter> JobReport::letters() const {
  std::set<job::Letter> found;
  for (const job::Letter letter : job::kLetters)
    if (directory_.is_open() && directory_.has(job::LetterName(letter).text)) found.insert(letter);
  return found;
}

}  // namespace strake::run
