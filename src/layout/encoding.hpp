/// \file  A layout as a row of 64-bit words, for another process: what a layout is made of, in its
/// canonical form, so that it is equal to the one that it was made from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strake/layout.hpp"

namespace strake {

/// Cost: O(metadata).
[[nodiscard]] std::vector<std::int64_t> encode(const Layout& layout);
/// The words may come from anywhere: whatever they are, this gives a layout, or throws, and needs
/// no more memory than a few times theirs.
/// \throws InvalidArgument  they are no layout
[[nodiscard]] Layout decode(std::span<const std::int64_t> words);

}  // namespace strake
