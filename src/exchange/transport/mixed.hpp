/// \file  Bytes whose blocks may lie in several kinds of memory (absolute addresses under
/// MPI_BOTTOM).
#pragma once

#include <cstddef>

#include "machine/message.hpp"
#include "strake/layout.hpp"
#include "strake/memory.hpp"

namespace strake::exchange {

using machine::MessageDirection;

/// Moves the bytes between the layout at `typed` and dense memory at `packed`. Synchronous.
void copy_mixed(MessageDirection direction, const Layout& layout, std::byte* typed,
                std::byte* packed, ByteRange part);
/// Whether all blocks of `layout` at `base` lie in one kind of memory; `place` is that of the first
/// byte.
[[nodiscard]] bool one_place(const Layout& layout, const std::byte* base, Place& place);

}  // namespace strake::exchange
