/// \file  A report: one page of HTML that needs no other files, and no network.
#pragma once

#include <string>

#include "report/profiles.hpp"

namespace strake::report {

/// Without its scripts the page is also well-formed XML.
[[nodiscard]] std::string page(const std::string& title, Profiles profiles);

}  // namespace strake::report
