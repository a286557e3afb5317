/// \file  The kind of memory at an address, and its device.
#pragma once

#include "strake/api.hpp"
#include "strake/place.hpp"

namespace strake {

/// The kind of memory that `address` points into. ~1 ns in a process without a device runtime; with
/// one ~3 ns for plain host memory that was asked about before, ~100 ns for other memory. Never
/// fails: memory that no runtime knows is host memory.
[[nodiscard]] STRAKE_API Place classify(const void* address) noexcept;
/// The kind of memory of the range from byte `first` to byte `last`. A range that is page-locked in
/// part, or by more than one call, is plain host memory: no device reaches all of it at once.
/// ~100 ns more for pinned memory.
[[nodiscard]] STRAKE_API Place classify(const void* first, const void* last) noexcept;

}  // namespace strake
