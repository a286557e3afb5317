/// \file  The part of a distributed array that one process holds, as in MPI_Type_create_darray.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "strake/layout.hpp"

namespace strake {

/// Which dimension is stored densely: the last (C) or the first (Fortran).
enum class Order : std::uint8_t { C, Fortran };

enum class Distribution : std::uint8_t { Block, Cyclic, None };

struct DistributedDim {
  std::int64_t size = 0;  ///< of the whole array [elements]
  Distribution distribution = Distribution::None;
  std::optional<std::int64_t> block;  ///< block size [elements]; nothing: MPI's default
  std::int64_t processes = 1;
};

/// Returns the elements that process `rank` holds, in the array's storage order, `extent` bytes
/// apart. The arguments follow MPI's rules, and the whole array ends before 2^63.
[[nodiscard]] Layout darray(const Layout& element, std::int64_t extent,
                            std::span<const DistributedDim> dims, Order order, std::int64_t rank);

}  // namespace strake
