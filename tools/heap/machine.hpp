/// \file  The machine and the limits of this process, as far as a heap of shared memory goes by
/// them.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace strake::heap {

/// Whether a limit of the process is lower than `bytes`; negative: whether there is one.
[[nodiscard]] bool is_limited(__rlimit_resource_t what, std::int64_t bytes) noexcept;
/// \{ Whether the kernel gives shared memory huge pages where it is asked to, and private memory
/// without being asked.
[[nodiscard]] bool gives_huge_pages() noexcept;
[[nodiscard]] bool gives_private_huge_pages() noexcept;
/// \}
/// The memory of the machine, or of this process's control group if that is less, by cores. [bytes]
[[nodiscard]] std::int64_t memory_for_each_core() noexcept;

}  // namespace strake::heap
