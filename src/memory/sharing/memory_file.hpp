/// \file  Memory without a name, that other processes can map, and what the kernel grants. Uses
/// only the C library.
#pragma once

#include <cstdint>

namespace strake::sharing {

/// The seals of such memory: nobody can resize it, which would be fatal for whoever reads it.
[[nodiscard]] int memory_seals() noexcept;
/// A descriptor of `bytes` of zeroes, of which none is taken from the machine before it is touched.
/// Negative, and errno: it can't be had. EFBIG: files may not be so long (ulimit -f).
/// \param huge_page  bytes of the pages, from the system's pool of those (hugetlb), a power of two
/// that divides `bytes`; 0: ordinary pages
[[nodiscard]] int make_memory_file(const char* name, std::int64_t bytes,
                                   std::int64_t huge_page = 0) noexcept;
/// Whether the kernel grants the process so much private memory, which is what others allocate.
[[nodiscard]] bool is_granted(std::int64_t bytes) noexcept;
/// Whether a page of shared memory is charged only when it is touched, so that a touch that is
/// refused ends the process by SIGBUS (vm.overcommit_memory=2).
[[nodiscard]] bool touches_may_fail() noexcept;

}  // namespace strake::sharing
