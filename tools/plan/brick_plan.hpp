/// \file  A forecast of a grid of bricks (strake::BrickGrid) in a job: its parts, their ghosts,
/// and what a rank sends by each form. Needs no job or MPI library.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "brick/division.hpp"

namespace strake::plan {

/// All axes are periodic.
struct BrickQuestion {
  std::vector<std::int64_t> grid;  ///< cells along each axis
  std::vector<int> shape;          ///< cells of a brick along each axis
  int ghost = 1;                   ///< cells that ghosts are deep on each side, at least
  int fields = 1;                  ///< of 8 bytes a cell, together in each brick
  int ranks = 1;
};

/// Pages that the machine may have, and MemMap pads surface regions to.
inline constexpr std::array<std::int64_t, 3> kPageBytes{4 << 10, 64 << 10, 2 << 20};

/// Messages and bytes are those of the largest part, to itself too.
struct BrickPlan {
  brick::BricksToDivide grid;
  std::int64_t brick_bytes = 0;
  brick::Coordinates parts{};    ///< along each axis
  brick::Coordinates largest{};  ///< bricks of the largest part
  std::int64_t inside = 0;       ///< its bricks that no neighbour gets
  std::int64_t surface = 0;      ///< its other bricks
  std::int64_t ghosts = 0;       ///< bricks that it stores of others
  int neighbours = 0;            ///< directions in which something is sent
  int own_neighbours = 0;        ///< those of them that lead to the rank itself
  int layout_messages = 0;       ///< one for each run of regions; MemMap has so many mappings
  int basic_messages = 0;        ///< one for each region
  std::int64_t sent_bytes = 0;   ///< without padding
  /// MemMap sends so much more, by kPageBytes: each region is padded to whole pages.
  std::array<std::int64_t, kPageBytes.size()> padding_bytes{};
};

/// Bytes of a brick of all fields. \throws InvalidArgument  as plan_bricks()
[[nodiscard]] std::int64_t brick_bytes_of(const std::vector<int>& shape, int fields);

/// Cost: by the bricks of a part; 0.01 s for a million.
/// \throws InvalidArgument  as AnyBrickGrid of so many ranks; a part of more than 2^27 bricks or
/// 2^60 bytes with its ghosts; the message has the values
[[nodiscard]] BrickPlan plan_bricks(const BrickQuestion& asked);

/// \param most_mappings  that a process may have (vm.max_map_count)
[[nodiscard]] std::string bricks_text(const BrickPlan& plan, std::int64_t most_mappings);
[[nodiscard]] std::string bricks_json(const BrickPlan& plan, std::int64_t most_mappings);

/// \{ The messages of parts of three bricks or more along each axis, in 1 to 5 dimensions, and the
/// padding that a shape of bricks needs; no shape: nothing of it. \throws  as plan_bricks()
[[nodiscard]] std::string orders_text(const std::vector<int>& shape, int fields);
[[nodiscard]] std::string orders_json(const std::vector<int>& shape, int fields);
/// \}

}  // namespace strake::plan
