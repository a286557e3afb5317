/// \file  Whether a library moved the right bytes, by comparison with explicit loops over a case's
/// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/case.hpp"

namespace bench {

/// Fills with bytes that differ by place and by `seed`.
void fill(std::byte* data, std::int64_t bytes, unsigned seed);

/// The explicit loops.
void pack_by_loop(const Case& c, const std::byte* buffer, std::byte* packed);
void unpack_by_loop(const Case& c, const std::byte* packed, std::byte* buffer);

/// Position of the first byte that differs, or -1.
std::int64_t first_difference(const std::byte* a, const std::byte* b, std::int64_t bytes);

/// MPI_Pack gives the loop's bytes; MPI_Unpack restores them and leaves the gaps alone. Empty when
/// so, else what is wrong. The type is committed.
std::string check_pack(const Case& c);

}  // namespace bench
