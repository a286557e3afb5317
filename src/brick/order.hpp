/// \file  The order in which a subdomain's surface regions lie in memory, so that few messages
/// carry them to the neighbours without packing. Source: Zhao et al. (2021), "Improving
/// communication by optimizing on-node data movement with data layout", PPoPP, section 3.
///
/// A surface region has a sign for each axis: the cells beside the low end of the axis (-1), beside
/// the high end (1), or between (0). Signs name a neighbour likewise. A neighbour gets a region if
/// it lies on the region's side along each axis along which it is shifted. Regions that go to the
/// same neighbour share a message if they are consecutive in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strake::brick {

/// Subdomains have 1 to kMostDims dimensions: beyond, each neighbour gets five messages or more.
inline constexpr int kMostDims = 5;

/// A surface region or a neighbour: the sum of (sign + 1) * 3^axis. The vector of zeros, which is
/// the interior or the subdomain itself, is the number in the middle and neither of the two.
using Region = int;

/// \throws InvalidArgument  unless `dims` is 1 to kMostDims
void require_dims(int dims);

/// How many directions there are: the neighbours, and the vector of zeros in the middle.
[[nodiscard]] int directions_of(int dims) noexcept;

/// -1, 0 or 1. `axis` counts from 0.
[[nodiscard]] int sign_of(Region region, int axis) noexcept;

/// Whether `neighbour`, which is not the vector of zeros, gets `region` of as many dimensions.
[[nodiscard]] bool goes_to(Region region, Region neighbour) noexcept;

/// All regions in the order of their numbers; the numbers of all neighbours, too.
/// \throws InvalidArgument  as require_dims()
[[nodiscard]] std::vector<Region> regions_of(int dims);

/// How many neighbours get both regions; with `one` equal to `other`, how many get it.
[[nodiscard]] int common_neighbours(int dims, Region one, Region other) noexcept;

/// How many messages a subdomain sends whose regions lie in this order: each neighbour gets one for
/// each maximal run of consecutive regions that all go to it. Cost: O(regions).
/// \throws InvalidArgument  as require_dims(); an order in which a region is missing, or there
/// twice
[[nodiscard]] int messages_of(int dims, std::span<const Region> order);

/// A lower bound of messages_of() over all orders, which best_order() reaches (equation 1).
/// \throws InvalidArgument  as require_dims()
[[nodiscard]] int least_messages(int dims);

/// How many messages there are if each region is one by itself, for each neighbour (equation 3).
/// \throws InvalidArgument  as require_dims()
[[nodiscard]] int basic_messages(int dims);

struct SearchOptions {
  std::uint32_t seed = 1;  ///< equal seeds find equal orders, with every C++ library
  int rounds = 100;  ///< orders that are built at most; in 5 dimensions 4 of 5 reach the bound
};

/// Builds orders until one has least_messages(); the best one if none has. Cost: on average
/// 0.3 ms in 5 dimensions, now and then 5 ms, and 0.05 ms in 4 (2,000 seeds, one core).
/// \throws InvalidArgument  as require_dims(); no rounds
[[nodiscard]] std::vector<Region> search_order(int dims, const SearchOptions& options = {});

/// The order that Strake uses, with least_messages(). All versions of Strake have the same one, as
/// processes of different builds may share memory or files. Cost: none.
/// \throws InvalidArgument  as require_dims()
[[nodiscard]] const std::vector<Region>& best_order(int dims);

}  // namespace strake::brick
