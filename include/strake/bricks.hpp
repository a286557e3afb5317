/// \file  Grids of bricks: small blocks of cells, each contiguous in memory, stored so that what
/// goes to a neighbour needs no packing. Source: Zhao et al. (2021), "Improving communication by
/// optimizing on-node data movement with data layout", PPoPP.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "strake/api.hpp"
#include "strake/brick_view.hpp"
#include "strake/error.hpp"

namespace strake {

template <typename Taps>
class Stencil;

/// Bricks have at most so many axes: x first, which is contiguous.
inline constexpr int kMostBrickAxes = 5;
/// A number for each axis; those behind the last one count for nothing.
using BrickNumbers = std::array<std::int64_t, kMostBrickAxes>;

/// How what goes to a neighbour is cut.
enum class BrickForm : std::uint8_t {
  /// By surface regions that follow each other in memory: the fewest transfers without packing (42
  /// to all 26 neighbours in 3 dimensions).
  Layout,
  Basic,  ///< each surface region by itself (98); for comparison
  /// One transfer to each neighbour on another node (26): a view, by mappings, in which the bricks
  /// that it gets are one piece. Surface regions are padded to whole pages. As Layout within a
  /// node, where padding is copied, too.
  MemMap,
  /// Along one axis after the other, with the ghosts that came before: two transfers for each axis,
  /// one after the other (6). They are packed between nodes.
  Shift,
  /// As Layout between nodes. Ranks of one node map each other's bricks, read-only, in the place of
  /// their ghosts: no byte moves, and an exchange only says that a grid's values are there. One
  /// step follows each exchange. See before_writing().
  Mapped,
  /// Layout or MemMap, by what the rank that sends most to other nodes sends: a transfer costs as
  /// much as its bytes and, up to 32 KiB, these once more. Layout where a rank has too few mappings
  /// for two grids, or its memory can't be shared. plan() says which, and why.
  Best,
};

struct BrickOptions {
  /// The cells that ghosts are deep on each side, at least: they are stored in whole bricks. 0:
  /// none.
  int ghost = 1;
  std::array<bool, kMostBrickAxes> periodic{};
  /// Values of a cell, each a field. They lie brick by brick: all of one field's cells in a brick,
  /// then those of the next field; or, apart, all bricks of a field, then those of the next.
  int fields = 1;
  bool apart = false;
  BrickForm form = BrickForm::Layout;
  /// The pages of the memory, a power of two and no smaller than the system's: as SharedArray. 0:
  /// the system's. With MemMap regions are padded to whole ones. [bytes]
  std::int64_t page = 0;
  /// How many parts lie along each axis; their product is the number of ranks. A 0 beside other
  /// numbers counts as 1. All zeroes: the prime factors of the ranks cut the longest axis.
  std::array<int, kMostBrickAxes> counts{};
};

/// Cells from `lower` to before `upper`, by global coordinates.
struct BrickCellBox {
  BrickNumbers lower{};
  BrickNumbers upper{};
};

/// A grid of bricks whose shape is known when the program runs: storage and exchange.
/// BrickGrid<T, Shape> adds stencils. A rank owns a box of whole bricks, and stores ghost bricks
/// around it. Its bricks are numbered from 0 on: those that no neighbour gets, then its surface,
/// then ghosts. Ranks of a node read each other's bricks where they lie. In host memory. For one
/// thread at a time.
class STRAKE_API AnyBrickGrid {
 public:
  /// All zero at first. Collective.
  /// \param extent  cells along each axis, multiples of the brick's
  /// \param shape   cells of a brick along each axis
  /// \param element_bytes  of a value
  /// \throws InvalidArgument  on all ranks: no axis or more than five, an extent that is no
  /// multiple of the brick's (the message says which would be), fewer bricks for a rank than its
  /// ghosts have, values that ranks give differently; `comm` is MPI_COMM_NULL or an
  /// intercommunicator. Unsupported  form Mapped or MemMap, and a rank's memory can't be
  /// shared (64 arrays of a process can), or views need too many mappings; MpiError, OutOfMemory
  AnyBrickGrid(MPI_Comm comm, std::span<const std::int64_t> extent, std::span<const int> shape,
               std::int64_t element_bytes, const BrickOptions& options = {});
  AnyBrickGrid(AnyBrickGrid&&) noexcept;
  AnyBrickGrid& operator=(AnyBrickGrid&&) noexcept;
  /// The last grid of those that like() made of one another: collective, as Exchange::~Exchange.
  /// Where the form is Mapped, each, as before_writing().
  ~AnyBrickGrid();
  /// Another grid of the same bricks, all zero, which shares what was planned. Local; collective
  /// where the form is Mapped, MemMap or Best. \throws OutOfMemory  there is no memory; Unsupported
  /// as above
  [[nodiscard]] AnyBrickGrid like() const;
  /// Whether one grid was made by like() of the other, or both of a third one.
  [[nodiscard]] bool is_alike(const AnyBrickGrid& other) const noexcept;

  /// Fills the ghost bricks that have an owner: start() and finish(). All ranks call it, for grids
  /// that are alike in the same order.
  void exchange();
  /// \{ A grid that ends between the two waits, or gives up if an exception unwinds the stack.
  /// start() begins it: sent bricks must not be changed, nor ghosts read, until finish(). One of
  /// the grids that are alike at a time. \throws  as Exchange::start, Exchange::wait; Error  with
  /// STRAKE_CHECK=1: a cell was computed from a ghost before finish(), or a sent brick was changed
  void start();
  void finish();
  /// \}
  /// \{ Where the form is Mapped, call it before owned bricks of a grid change that was exchanged:
  /// it returns when no neighbour reads their values any more. As collective as an exchange, and
  /// about as long. With `from`: all ranks compute this grid from that one, which is alike, and
  /// until the next exchange begins read no other grid's neighbours; then it costs nothing where a
  /// grid that is alike was exchanged since this one was computed from, as where two alternate.
  /// apply() calls it so. Other forms: no effect. \throws InvalidArgument  a grid that is alike is
  /// between start() and finish(), and it is not free; `from` is not alike, or this grid; as
  /// exchange()
  void before_writing();
  void before_writing(AnyBrickGrid& from);
  /// \}

  [[nodiscard]] int dims() const noexcept;
  [[nodiscard]] int fields() const noexcept;
  /// The cells of the whole grid, of a brick, and of the ghosts on each side, along each axis.
  [[nodiscard]] const BrickNumbers& extent() const noexcept;
  [[nodiscard]] const BrickNumbers& shape() const noexcept;
  [[nodiscard]] const BrickNumbers& ghost() const noexcept;
  /// The cells that this rank owns.
  [[nodiscard]] const BrickCellBox& owned_cells() const noexcept;
  /// The global coordinates of a brick's first cell; of a ghost they may be below 0, or past the
  /// extent. \throws InvalidArgument  there is no such brick
  [[nodiscard]] BrickNumbers corner(int brick) const;
  /// \{ Numbers of bricks: those that no neighbour gets, the other owned ones, both, and the ghosts
  /// that lie in this rank's memory.
  [[nodiscard]] std::span<const std::int32_t> interior() const noexcept;
  [[nodiscard]] std::span<const std::int32_t> surface() const noexcept;
  [[nodiscard]] std::span<const std::int32_t> owned() const noexcept;
  [[nodiscard]] std::span<const std::int32_t> ghosts() const noexcept;
  /// \}
  /// How many steps of a stencil that reaches so far along each axis one exchange is enough for,
  /// where each step computes bricks_of_step(). \throws InvalidArgument  a reach below 0
  [[nodiscard]] int steps_per_exchange(std::span<const int> reach) const;
  /// The bricks to compute in step `step`, from 0 on, after an exchange: those that are owned, and
  /// ghosts that later steps read, computed twice so (ghost-cell expansion). Ghosts beyond an end
  /// of the grid are the program's, and not among them. Valid until the next call. \throws
  /// InvalidArgument  more steps than steps_per_exchange()
  [[nodiscard]] std::span<const std::int32_t> bricks_of_step(int step, std::span<const int> reach);

  /// \{ The memory: brick b of field f begins at data() + field_offset(f) + brick_offset(b), and
  /// has its cells without gaps, x fastest. [bytes]
  [[nodiscard]] std::byte* data() noexcept;
  [[nodiscard]] const std::byte* data() const noexcept;
  /// \throws InvalidArgument  there is no such brick
  [[nodiscard]] std::int64_t brick_offset(int brick) const;
  [[nodiscard]] std::int64_t field_offset(int field) const;
  [[nodiscard]] std::int64_t size_bytes() const noexcept;
  /// \}
  /// As BrickView::adjacency, from the first brick of a field on. Beyond what is stored a brick is
  /// its own neighbour: what is read there reaches no owned cell within steps_per_exchange().
  /// \throws InvalidArgument  there is no such field
  [[nodiscard]] const std::int64_t* adjacency(int field = 0) const;

  /// \{ Copies the owned cells of a field from an array, or to it; with ghosts, all that is stored.
  /// The array is contiguous, x fastest, and of just these cells.
  /// \throws InvalidArgument  there is no such field; ghosts where some are mapped: they are other
  /// ranks' bricks
  void copy_from(const void* array, int field = 0, bool with_ghosts = false);
  void copy_to(void* array, int field = 0, bool with_ghosts = false) const;
  /// \}

  /// Transfers that this rank sends in an exchange, and their bytes.
  [[nodiscard]] int messages() const noexcept;
  [[nodiscard]] std::int64_t bytes_sent() const noexcept;
  /// For people: how the grid is divided and stored, and how its ghosts come.
  [[nodiscard]] std::string plan() const;

 private:
  struct Plan;
  struct Storage;
  class Check;
  explicit AnyBrickGrid(std::shared_ptr<Plan> plan);
  void make_storage(bool collective);
  std::shared_ptr<Plan> plan_;
  std::unique_ptr<Storage> storage_;
};

/// A grid of bricks of values of type T: `BrickGrid<double, Shape<8, 8, 8>>`.
template <typename T, typename S>
class BrickGrid : public AnyBrickGrid {
  static_assert(std::is_trivially_copyable_v<T>, "its bytes are sent");

 public:
  using value_type = T;
  using shape = S;

  /// As AnyBrickGrid.
  BrickGrid(MPI_Comm comm, std::span<const std::int64_t> extent, const BrickOptions& options = {})
      : AnyBrickGrid(comm, extent, S::extent, sizeof(T), options) {}
  BrickGrid(MPI_Comm comm, std::initializer_list<std::int64_t> extent,
            const BrickOptions& options = {})
      : BrickGrid(comm, std::span<const std::int64_t>(extent.begin(), extent.size()), options) {}
  [[nodiscard]] BrickGrid like() const { return BrickGrid(AnyBrickGrid::like()); }

  /// \{ The bricks of a field, as stencils see them. Valid as long as this grid, and moves with it.
  [[nodiscard]] BrickView<T, S> view(int field = 0) {
    return {reinterpret_cast<T*>(data() + field_offset(field)), adjacency(field)};
  }
  [[nodiscard]] BrickView<const T, S> view(int field = 0) const {
    return {reinterpret_cast<const T*>(data() + field_offset(field)), adjacency(field)};
  }
  /// \}

 private:
  explicit BrickGrid(AnyBrickGrid&& other) noexcept : AnyBrickGrid(std::move(other)) {}
};

/// The steps that one exchange is enough for. \throws  as AnyBrickGrid::steps_per_exchange()
template <typename Taps, typename T, typename S>
[[nodiscard]] int steps_per_exchange(const Stencil<Taps>& /*stencil*/,
                                     const BrickGrid<T, S>& grid) {
  return grid.steps_per_exchange(Stencil<Taps>::reaches());
}

/// Computes each field of `to` from that of `from`, in the bricks of a step after an exchange of
/// `from`'s values (AnyBrickGrid::bricks_of_step): `apply(heat, a, b)`.
/// \throws InvalidArgument  `to` is `from`, or not alike; ghosts are not deep enough for so many
/// steps
template <typename Taps, typename T, typename S>
void apply(const Stencil<Taps>& stencil, BrickGrid<T, S>& from, BrickGrid<T, S>& to, int step = 0) {
  static_assert(Stencil<Taps>::inputs == 1, "of several inputs: Stencil::apply, with their views");
  if (&from == &to) throw InvalidArgument("a stencil that reads and writes one grid of bricks");
  if (!from.is_alike(to))
    throw InvalidArgument("a stencil from bricks to others that were not made by like()");
  const auto bricks = from.bricks_of_step(step, Stencil<Taps>::reaches());
  to.before_writing(from);
  for (int field = 0; field < from.fields(); ++field)
    stencil.template apply<T, S>(bricks, std::as_const(from).view(field), to.view(field));
}

}  // namespace strake
