/// \file  Temporary blocks of plain host memory, reused: ~20 ns from a thread's own cache.
#pragma once

#include <cstdint>

namespace strake {

/// 64-byte aligned. Any thread. \throws OutOfMemory
[[nodiscard]] void* acquire_host_block(std::int64_t bytes);
/// Null is allowed. Any thread, not only the one that acquired.
void release_host_block(void* block) noexcept;
/// Bytes taken from the system and not given back: in use and waiting.
[[nodiscard]] std::int64_t host_block_bytes() noexcept;

}  // namespace strake
