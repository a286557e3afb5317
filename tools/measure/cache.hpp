/// \file  Empties the CPU caches of given data. Sources: dissertation 3.2.
#pragma once

#include <cstddef>

namespace strake::measure {

/// Whether this CPU lets a program flush lines.
[[nodiscard]] bool can_flush_cache() noexcept;
/// Writes back and drops every line of [data, data + bytes) from all caches, and waits for it.
/// \throws Unsupported  this CPU has no instruction for it.
void flush_cache(const void* data, std::size_t bytes);

}  // namespace strake::measure
