/// \file  The private directories (job/directory.hpp) that this process has joined: sockets for
/// descriptors have their names there.
#pragma once

#include <cstdint>
#include <memory>

#include "job/directory.hpp"

namespace strake::sharing {

using SharedDirectory = std::shared_ptr<const job::Directory>;

/// Joins the directory of that number, or gives the one that this process has joined. The last
/// pointer to it leaves it; where the process ends before, others remove it. ~20 us for a new one.
/// Threads may call it. \throws Unsupported  it can't be made, or other users may enter it
[[nodiscard]] SharedDirectory directory_of(std::uint64_t number);

/// A number that no other user can guess.
[[nodiscard]] std::uint64_t new_number();

}  // namespace strake::sharing
