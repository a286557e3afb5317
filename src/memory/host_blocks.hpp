/// \file  Temporary blocks of plain host memory, reused: ~20 ns from a thread's own cache.
#pragma once

#include <cstdint>

namespace strake {

/// 64-byte aligned. Any thread. \throws OutOfMemory  after those that wait were given back
[[nodiscard]] void* acquire_host_block(std::int64_t bytes);
/// Null is allowed. Any thread, not only the one that acquired.
void release_host_block(void* block) noexcept;
/// Gives those that wait back to the system, but for the few that each thread keeps.
void free_waiting_host_blocks() noexcept;
/// Bytes taken from the system and not given back: in use and waiting.
[[nodiscard]] std::int64_t host_block_bytes() noexcept;

}  // namespace strake
