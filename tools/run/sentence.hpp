/// \file  The sentence that ends a comparison. With three kinds of runs it says which to take.
#pragma once

#include <string>

#include "comparison.hpp"

namespace strake::run {

/// See Comparison::sentence().
[[nodiscard]] std::string sentence_of(const Comparison& all);

}  // namespace strake::run
