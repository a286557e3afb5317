/// \file  Temporary blocks of plain host memory, reused: ~20 ns from a thread's own cache.
#pragma once

#include <cstdint>

namespace strake {

/// 64-byte aligned. Any thread. \throws OutOfMemory  even after the waiting blocks were freed
[[nodiscard]] void* acquire_host_block(std::int64_t bytes);
/// Null is allowed. Any thread, not only the one that acquired.
void release_host_block(void* block) noexcept;
/// Frees the blocks that wait to be reused, except the few that each thread keeps.
void free_waiting_host_blocks() noexcept;
/// Bytes allocated and not freed: blocks in use and blocks that wait to be reused.
[[nodiscard]] std::int64_t host_block_bytes() noexcept;

}  // namespace strake
