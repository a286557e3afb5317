/// \file  What STRAKE_CHECK=1 asks of a batch at every run.
#pragma once

#include <cstddef>
#include <span>

#include "strake/copy.hpp"

namespace strake {

/// \throws InvalidArgument  two copies write the same byte, or one touches bytes outside of the
/// memory that the base of its slot lies in (where the device runtime knows that memory). Cost:
/// O(blocks of all targets) of time and memory.
void check_batch(std::span<const CopyBatch::Copy> copies, std::span<std::byte* const> bases);

}  // namespace strake
