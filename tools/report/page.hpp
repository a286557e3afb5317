/// \file  A report: one page of HTML that needs no other files, no network and no scripts.
#pragma once

#include <string>

#include "report/sections.hpp"

namespace strake::report {

/// The page is also well-formed XML.
[[nodiscard]] std::string page(const std::string& title, Profiles profiles);

}  // namespace strake::report
