/// \file  Parts of a page beside its data: style sheet, script, and the library of charts.
#pragma once

#include <string_view>

namespace strake::report {

extern const std::string_view kStyle;         ///< page.css
extern const std::string_view kScript;        ///< page.js
extern const std::string_view kChartLibrary;  ///< third_party/chartjs

}  // namespace strake::report
