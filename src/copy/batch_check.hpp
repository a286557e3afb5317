/// \file  Checks that STRAKE_CHECK=1 adds to every run of a batch.
#pragma once

#include <cstddef>
#include <span>

#include "strake/copy.hpp"

namespace strake {

/// \throws InvalidArgument  two copies write the same byte; `on_device`, where copies are in no
/// order: one reads a byte that another (or itself) writes, or a slot's address is not of the
/// slot's place, or bytes lie outside of the memory there. Cost: O(blocks of all layouts) of time
/// and memory.
void check_batch(std::span<const CopyBatch::Copy> copies, std::span<const Place> places,
                 std::span<std::byte* const> bases, bool on_device);

}  // namespace strake
