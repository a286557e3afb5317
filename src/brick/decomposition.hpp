/// \file  Where the bricks of a rank's subdomain lie in memory: the interior, in tiles that caches
/// hold a layer of, then the surface regions in the order that needs the fewest messages, then the
/// ghost bricks by neighbour, each neighbour's in the order in which it stores them. Source: Zhao
/// et al. (2021), PPoPP, sections 2 and 3.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "brick/order.hpp"

namespace strake::brick {

/// A position, or numbers along each axis; those beyond the last axis are 0, or 1 of counts.
using Coordinates = std::array<int, kMostDims>;

/// Bricks from `lower` to before `upper`. A subdomain's first brick is at 0; ghost bricks lie below
/// it, and behind its last one.
struct BrickBox {
  Coordinates lower{};
  Coordinates upper{};
  [[nodiscard]] std::int64_t size(int dims) const noexcept;
};

/// Calls `visit` with each position of a box, x fastest.
template <typename Visit>
void for_each_position(const BrickBox& box, int dims, const Visit& visit) {
  Coordinates position = box.lower;
  for (std::int64_t left = box.size(dims); left > 0; --left) {
    visit(position);
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis) {
      if (++position[axis] < box.upper[axis]) break;
      position[axis] = box.lower[axis];
    }
  }
}

/// Consecutive bricks in memory.
struct BrickRange {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// A box of bricks that lie one after the other, x fastest, from `first` on.
struct StoredBox {
  BrickBox box;
  std::int32_t first = 0;
};

class Decomposition {
 public:
  /// \param counts  bricks of the subdomain along each axis
  /// \param ghosts  ghost bricks on each side along each axis; 0: none
  /// \param neighbour_counts  by direction (as Region): the counts of that neighbour, which differ
  /// along no axis along which it is not shifted; where the grid has an end, `counts`
  /// \throws InvalidArgument  as require_dims(); a subdomain, or a neighbour, of fewer bricks than
  /// ghosts along an axis; counts that do not fit; 2^31 bricks or more; the message has the numbers
  Decomposition(int dims, const Coordinates& counts, const Coordinates& ghosts,
                const std::vector<Coordinates>& neighbour_counts);

  [[nodiscard]] int dims() const noexcept { return dims_; }
  [[nodiscard]] const Coordinates& counts() const noexcept { return counts_; }
  [[nodiscard]] const Coordinates& ghosts() const noexcept { return ghosts_; }
  /// Bricks that are stored, and those of them that the subdomain owns, which come first.
  [[nodiscard]] std::int32_t stored() const noexcept { return stored_; }
  [[nodiscard]] std::int32_t owned() const noexcept { return owned_; }
  /// Owned bricks that no neighbour gets, from number 0 on.
  [[nodiscard]] std::int32_t interior() const noexcept { return interior_; }

  /// All boxes, in the order of memory: first those that are owned.
  [[nodiscard]] const std::vector<StoredBox>& boxes() const noexcept { return boxes_; }
  /// A ghost brick: the neighbour that owns it, and its number there. At an end of the grid, of a
  /// neighbour that there is not.
  struct Ghost {
    Region from = 0;
    std::int32_t number = 0;
  };
  /// By number, from owned() on.
  [[nodiscard]] const std::vector<Ghost>& ghost_bricks() const noexcept { return ghost_bricks_; }
  /// The number of the brick at a position, which is stored.
  [[nodiscard]] std::int32_t brick_at(const Coordinates& position) const noexcept {
    return numbers_[index_of(position)];
  }
  [[nodiscard]] bool is_stored(const Coordinates& position) const noexcept;
  /// The positions of all bricks, by number.
  [[nodiscard]] std::vector<Coordinates> positions() const;

  /// \{ The bricks that the neighbour in direction `to` gets, and where those of the neighbour in
  /// direction `from` come. The one's receives have the sizes of the other's sends. None is empty;
  /// what is received lies one after the other. \param by_region  one range for each surface
  /// region, else one for all that follow each other in the sender's memory: a message for each
  /// needs no packing
  [[nodiscard]] std::vector<BrickRange> sends(Region to, bool by_region = false) const;
  [[nodiscard]] std::vector<BrickRange> receives(Region from, bool by_region = false) const;
  /// \}

 private:
  [[nodiscard]] std::size_t index_of(const Coordinates& position) const noexcept;
  void require_counts(const std::vector<Coordinates>& neighbour_counts) const;
  std::int32_t add(const BrickBox& box);
  void add_ghosts(Region from, const Coordinates& neighbour);

  int dims_;
  Coordinates counts_;
  Coordinates ghosts_;
  std::int32_t interior_ = 0;
  std::int32_t owned_ = 0;
  std::int32_t stored_ = 0;
  std::vector<StoredBox> boxes_;
  std::vector<Ghost> ghost_bricks_;
  std::vector<std::int32_t> numbers_;  ///< by position, x fastest
  /// \{ By direction: by region, and joined.
  std::array<std::vector<std::vector<BrickRange>>, 2> sends_;
  std::array<std::vector<std::vector<BrickRange>>, 2> receives_;
  /// \}
};

}  // namespace strake::brick
