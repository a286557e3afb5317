/// \file  A report: one page of HTML that needs nothing else, no network and no scripts.
#pragma once

#include <string>

#include "report/sections.hpp"

namespace strake::report {

/// Well-formed XML too.
[[nodiscard]] std::string page(const std::string& title, Profiles profiles);

}  // namespace strake::report
