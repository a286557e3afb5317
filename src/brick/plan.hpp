/// \file  The inside of grids of bricks: what those that are alike share, and each one's memory.
#pragma once

#include <mpi.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "brick/decomposition.hpp"
#include "brick/division.hpp"
#include "exchange/peers/group.hpp"
#include "memory/sharing/shared_view.hpp"
#include "mpi/agree.hpp"
#include "strake/bricks.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/exchange.hpp"

namespace strake::brick {

/// Calls `work`, and throws on all ranks what one of them throws. Collective.
template <typename Work>
void on_all(MPI_Comm comm, const Work& work) {
  std::string fault;
  ErrorCode kind = ErrorCode::Other;
  try {
    work();
  } catch (const std::exception& error) {
    fault = error.what();
    kind = kind_of_current_error();
  }
  mpi::agree(comm, fault, kind);
}

}  // namespace strake::brick

namespace strake {

static_assert(kMostBrickAxes == brick::kMostDims);

/// Immutable once made, but for the exchange, and what is compiled when it is first needed.
struct AnyBrickGrid::Plan {
  Plan(MPI_Comm over, std::span<const std::int64_t> wanted, std::span<const int> brick,
       std::int64_t element_size, const BrickOptions& given);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// \{ Parts of the constructor.
  void require_alike(std::span<const std::int64_t> wanted, std::span<const int> brick) const;
  [[nodiscard]] std::string fault_of(std::span<const std::int64_t> wanted,
                                     std::span<const int> shape_wanted);
  void divide();
  void place();
  void name_bricks();
  /// Finds the ranks whose bricks are mapped, and connects this one with them.
  void plan_signals();
  void require_bytes() const;
  void choose_form();
  [[nodiscard]] bool may_map_views(std::int64_t needed) const;
  void lay_out();
  void plan_exchange();
  void plan_transfers(ExchangePart& part, brick::Region direction, int peer);
  [[nodiscard]] ExchangePart shift_along(std::size_t axis);
  /// \}
  /// Whether a rank is on another node.
  [[nodiscard]] bool is_far(int other) const noexcept {
    return other != rank && !group->is_near(other);
  }
  /// Whether a rank's bricks are read where they lie.
  [[nodiscard]] bool is_mapped(int other) const noexcept;
  /// \{ The pages of the memory, a size in whole ones, and what regions that begin at pages add.
  /// [bytes]
  [[nodiscard]] std::int64_t page() const noexcept;
  [[nodiscard]] std::int64_t in_pages(std::int64_t size) const noexcept;
  [[nodiscard]] std::int64_t padding() const noexcept;
  /// \}
  /// Calls `visit` with each direction in which there is a neighbour, and the rank there.
  template <typename Visit>
  void for_each_neighbour(const Visit& visit) const {
    const int own = part_of[static_cast<std::size_t>(rank)];
    for (brick::Region direction = 0; direction < directions(); ++direction) {
      const auto there = division->neighbour(own, direction);
      if (there && direction != directions() / 2)
        visit(direction, rank_of[static_cast<std::size_t>(*there)]);
    }
  }
  /// The rank that owns a ghost brick; -1: it is beyond an end of the grid.
  [[nodiscard]] int owner_of(std::int32_t number) const;
  /// \{ Tells the mapped neighbours a word, and waits for theirs. \throws Error  they differ
  void signal(std::int64_t word);
  void finish_signals();
  /// \}
  /// The neighbours of each brick, where ghosts lie as told.
  [[nodiscard]] std::vector<std::int64_t> adjacency_of(
      const std::function<std::int64_t(std::int32_t number)>& offset_of_ghost) const;
  /// The bytes of consecutive bricks of a field, with what lies between.
  [[nodiscard]] ByteRange bytes_of(const brick::BrickRange& range) const noexcept;
  [[nodiscard]] bool maps() const noexcept { return options.form == BrickForm::Mapped; }
  [[nodiscard]] bool maps_views() const noexcept { return options.form == BrickForm::MemMap; }
  /// Whether ranks may fail by themselves to make another grid, so that they make it together.
  [[nodiscard]] bool makes_together() const noexcept {
    return maps() || maps_views() || !choice.empty();
  }
  [[nodiscard]] int directions() const noexcept;
  [[nodiscard]] std::size_t axes() const noexcept { return static_cast<std::size_t>(dims); }
  /// \{ \throws InvalidArgument  there is no such
  void require_field(int field) const;
  void require_brick(int number) const;
  /// \}
  /// \throws InvalidArgument  ghosts are asked for, and other ranks have some
  void require_own(bool with_ghosts) const;
  /// The memory of a field from its first brick on: of all that is stored, or what is owned.
  [[nodiscard]] Layout of_bricks(bool with_ghosts) const;
  /// An array of the same cells, in the same order.
  [[nodiscard]] Layout of_array(bool with_ghosts) const;

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  int dims = 0;
  std::int64_t element_bytes = 0;
  BrickOptions options;  ///< their form is never Best
  std::string choice;    ///< for people, where Best was asked for
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
  std::vector<std::int32_t> ghosts;           ///< in this rank's memory
  std::vector<std::int64_t> adjacency;        ///< where no ghosts are mapped
  std::int64_t brick_bytes = 0;               ///< of one field
  std::int64_t stride = 0;                    ///< from brick to brick of a field [bytes]
  std::vector<std::int64_t> offsets;          ///< of each brick of a field [bytes]
  std::int64_t field_bytes = 0;               ///< from field to field
  std::int64_t bytes = 0;                     ///< of all
  int messages = 0;
  std::int64_t bytes_sent = 0;
  const Storage* running = nullptr;  ///< the grid that is between start() and finish()
  /// Peers are told that this rank has left.
  void give_up() noexcept;
  /// Exchanges of bricks with ranks that are not mapped, one after the other.
  std::vector<Exchange> exchanges;
  std::shared_ptr<exchange::peers::Group> group;
  /// Array i + 1 of the exchange is a view of these ranges of the memory.
  std::vector<std::vector<ByteRange>> views;
  /// \{ With BrickForm::Mapped.
  std::vector<int> mapped;          ///< ranks of this node, this one not among them
  Exchange signals;                 ///< with them
  std::vector<std::int64_t> words;  ///< the one that goes to them, and one from each
  int grids = 0;                    ///< that were made
  std::int64_t rounds = 0;          ///< of signals
  /// \}
  /// Bricks within so many rings of ghosts along each axis.
  std::map<brick::Coordinates, std::vector<std::int32_t>> rings;
};

struct AnyBrickGrid::Storage {
  /// \{ In this order; map() and link() with BrickForm::Mapped alone. map() is collective.
  void allocate(Plan& plan);
  void map(Plan& plan);
  void link(const Plan& plan);
  /// \}
  /// For people: what became of BrickOptions::page, a line, or nothing.
  [[nodiscard]] std::string pages(const Plan& plan) const;
  SharedArray memory;
  std::unique_ptr<Check> check;  ///< with STRAKE_CHECK=1
  std::vector<sharing::SharedView> views;
  std::vector<std::byte*> addresses;  ///< of the arrays of an exchange
  int number = 0;                     ///< among the grids that are alike
  /// The round of signals in which neighbours may have read this grid last. 0: they do not read it.
  std::int64_t round = 0;
  std::vector<std::vector<std::int64_t>> adjacency;  ///< by field; none: as of the plan

 private:
  /// The memory of a rank's bricks, as it is mapped here.
  struct Bricks {
    const std::byte* first = nullptr;
    std::int64_t field_bytes = 0;  ///< from field to field
  };
  void make_views(const Plan& plan);
  std::map<int, Bricks> bricks_;                 ///< by rank, those that are mapped
  int exceptions_ = std::uncaught_exceptions();  ///< that unwound the stack when it was made
  friend class AnyBrickGrid;
};

}  // namespace strake
