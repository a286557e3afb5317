/// \file  The inside of grids of bricks: what those that are alike share, and each one's memory.
#pragma once

#include <mpi.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "brick/decomposition.hpp"
#include "brick/division.hpp"
#include "strake/bricks.hpp"
#include "strake/copy.hpp"
#include "strake/exchange.hpp"

namespace strake {

static_assert(kMostBrickAxes == brick::kMostDims);

/// Immutable once made, but for the exchange, and what is compiled when it is first needed.
struct AnyBrickGrid::Plan {
  Plan(MPI_Comm over, std::span<const std::int64_t> wanted, std::span<const int> brick,
       std::int64_t bytes, const BrickOptions& given);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// \{ Parts of the constructor.
  void require_alike(std::span<const std::int64_t> wanted, std::span<const int> brick) const;
  [[nodiscard]] std::string fault_of(std::span<const std::int64_t> wanted,
                                     std::span<const int> brick);
  void divide();
  void place();
  void name_bricks();
  void link_bricks();
  void plan_exchange();
  /// \}
  [[nodiscard]] int directions() const noexcept;
  [[nodiscard]] std::size_t axes() const noexcept { return static_cast<std::size_t>(dims); }
  void require_field(int field) const;
  /// The memory of a field from its first brick on: of all that is stored, or what is owned.
  [[nodiscard]] Layout of_bricks(bool with_ghosts) const;
  /// An array of the same cells, in the same order.
  [[nodiscard]] Layout of_array(bool with_ghosts) const;

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  int dims = 0;
  std::int64_t element_bytes = 0;
  BrickOptions options;
  BrickNumbers extent{};
  BrickNumbers shape{};
  BrickNumbers ghost{};
  brick::BricksToDivide bricks;
  std::optional<brick::Division> division;
  std::vector<int> part_of;  ///< by rank
  std::vector<int> rank_of;  ///< by part
  std::optional<brick::Decomposition> decomposition;
  BrickCellBox owned;
  std::vector<brick::Coordinates> positions;  ///< by brick
  std::vector<std::int32_t> numbers;          ///< 0, 1, … of all bricks
  std::vector<std::int64_t> adjacency;
  std::int64_t brick_bytes = 0;  ///< of one field
  std::int64_t stride = 0;       ///< from brick to brick of a field [bytes]
  int messages = 0;
  Exchange exchange;
  /// Bricks within so many rings of ghosts along each axis.
  std::map<brick::Coordinates, std::vector<std::int32_t>> rings;
};

struct AnyBrickGrid::Storage {
  explicit Storage(std::int64_t bytes) : memory(bytes) {}
  SharedArray memory;
};

}  // namespace strake
