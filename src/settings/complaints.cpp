#include "settings/complaints.hpp"

#include <string>

#include "job/first.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"

namespace strake::settings {

void report_complaints() {
  static const bool reported = [] {
    if (!job::first_of_job()) return true;
    for (const std::string& complaint : complaints()) log::warn("{}", complaint);
    return true;
  }();
  static_cast<void>(reported);
}

}  // namespace strake::settings
