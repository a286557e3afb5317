/// \file  Which subgrid of a grid goes where in a job of several nodes. Source: dissertation 4.3.
#pragma once

#include <cstdint>

namespace strake {

/// How the subgrids of a grid are given to those that hold them: the ranks, or each rank's places
/// (GridOptions::places), in the order of ranks. On one node all
/// but Morton and Given are alike, unless it has islands: NUMA nodes, or GPUs, between which copies
/// were measured to be slower than within (`strake measure`).
enum class Placement : std::uint8_t {
  /// NodeAware or Flat: by what leaves the nodes, the fewest cells; equal ones: Flat. Then the
  /// subgrids of each node go to its islands, so that few cells go between these.
  Best,
  /// Best or Flat: by the predicted time of an exchange, where this machine was measured (`strake
  /// measure`); elsewhere as Best.
  Model,
  /// The grid is divided among nodes first, then among the places of each. Where nodes have
  /// different numbers of places, or `counts` are given: subgrids that exchange much go to one
  /// node. Islands as by Best.
  NodeAware,
  Flat,    ///< in the order of subgrids, x counts fastest
  Morton,  ///< along a space-filling curve: neighbours tend to be near, whatever the nodes
  Given,   ///< by GridOptions::subgrid_of
};

}  // namespace strake
