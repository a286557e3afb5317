/// \file  Structured grids: fields on a rank's part of a grid, whose ghost cells other ranks own,
/// and their exchange. Source: dissertation 4 (the stencil library).
#pragma once

#include <mpi.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "strake/api.hpp"
#include "strake/box.hpp"
#include "strake/combine.hpp"
#include "strake/exchange.hpp"
#include "strake/field.hpp"
#include "strake/place.hpp"
#include "strake/placement.hpp"
#include "strake/stream.hpp"

namespace strake {

struct GridOptions {
  Radius radius = 1;  ///< of fields that have none of their own
  std::array<bool, 3> periodic{};
  /// How many subgrids lie along each axis; their product is the number of all. A 0 beside other
  /// numbers counts as 1. All zeroes: by recursive bisection.
  std::array<int, 3> counts{};
  /// Which subgrid each rank gets. Subgrids that exchange much are on one node, and one island of
  /// it; Flat: rank r has the subgrids after those of rank r - 1, x counts fastest. Grid::plan()
  /// says what was done.
  Placement placement = Placement::Best;
  /// With Placement::Given: the subgrid of each place, by its number (x counts fastest); places are
  /// those of all ranks, in their order.
  std::vector<int> subgrid_of{};
  Place place{};  ///< host memory, or that of a device
  /// Several subgrids for this rank, each in the memory of its place: one a device, say. Ranks may
  /// have different numbers of them. None: one, at `place`.
  std::vector<Place> places{};
};

struct GhostOptions {
  std::array<bool, 3> axes{true, true, true};  ///< only directions along these
  int depth = -1;  ///< no more cells than that; -1: as many as the radius says
};

/// How values that come back merge with those that are there: by an operation, for whatever numbers
/// the fields have, or by a Combine, for fields of its type.
using Merge = std::variant<Combine, ValueOp>;

class Ghosts;

/// A grid of one to three axes, divided among the ranks of a communicator (GridOptions::placement),
/// or rather their subgrids: a rank has one, or several (GridOptions::places), which it counts from
/// 0 on. Coordinates are global: cell (i, j, k) is the same one on all ranks, and ghost cells
/// beyond a periodic end have coordinates below 0 or past the extent. For one thread at a time; all
/// calls that say so are collective.
class STRAKE_API Grid {
 public:
  /// Collective.
  /// \param extent  cells along x, y and z; axes that are not named have one cell and no ghosts.
  /// More ranks than cells may take part: those without cells move nothing.
  /// \throws InvalidArgument  on all ranks: no axis or more than three, an extent below 1; ranks
  /// give different extents, `periodic` or `counts` (the message has both values); `comm` is
  /// MPI_COMM_NULL or an intercommunicator. Unsupported  managed memory, or a device that is not
  /// there; MpiError
  Grid(MPI_Comm comm, std::initializer_list<std::int64_t> extent, const GridOptions& options = {});
  Grid(MPI_Comm comm, std::span<const std::int64_t> extent, const GridOptions& options = {});
  template <std::ranges::sized_range Extent>
  requires std::integral<std::ranges::range_value_t<Extent>> Grid(MPI_Comm comm,
                                                                  const Extent& extent,
                                                                  const GridOptions& options = {})
      : Grid(comm, std::span<const std::int64_t>(as_extent(extent)), options) {}
  Grid(Grid&&) noexcept;
  Grid& operator=(Grid&&) noexcept;
  /// Collective: all ranks destroy it after the same exchanges, and before MPI_Finalize. A rank
  /// that does so earlier is named to those that wait for it, as is one that leaves by an exception
  /// (Exchange::~Exchange). MPI_Finalize ends the exchanges of a grid that is alive: exchange()
  /// throws an Error from then on.
  ~Grid() {
    if (std::uncaught_exceptions() > exceptions_) unwind();  // as Exchange::~Exchange
  }

  /// Adds a field, all zero at first. Collective.
  /// \throws InvalidArgument  on all ranks: a name that is there already, a negative radius, or one
  /// longer than a subgrid; the message names field, direction, rank and both values. Ranks give
  /// different names, element types or sizes, places in the cell or radii; `next` may differ.
  /// OutOfMemory  on all ranks, with field, rank and bytes
  template <typename T>
  [[nodiscard]] Field<T> add(const std::string& name, const FieldOptions& options = {}) {
    static_assert(std::is_trivially_copyable_v<T>, "its bytes are sent");
    auto* const data = add_field(name, type_of<T>(), options);
    return Field<T>(data, last_field());
  }
  /// add() by size and type. \throws  as above; InvalidArgument  an element of no bytes, a name
  /// that is none of VTK's, or numbers that are not as long as the element
  [[nodiscard]] FieldHandle add(const std::string& name, const ElementType& type,
                                const FieldOptions& options = {}) {
    auto* const data = add_field(name, type, options);
    return FieldHandle(data, last_field());
  }
  /// \{ As add(), of arrays that the user has: one for each of this rank's subgrids. Values stay as
  /// they are. (FieldOptions::next counts for nothing: a field has two buffers where `next` is
  /// given.) A pointer is to the lower corner of stored(), ghost cells included. Compare owned()
  /// with your own division before. Ranks of a node read such arrays where they lie if they are a
  /// device's, or host memory that is shared (SharedArray, or the heap of `strake run
  /// --shared-heap`); others are packed. STRAKE_CHECK=1 finds no writes beside them.
  /// \throws  as add(); InvalidArgument  not as many arrays as subgrids; none for a subgrid with
  /// cells, or in another memory than its place; a next one for some subgrids alone; strides
  /// shorter than rows, or planes
  template <typename T>
  [[nodiscard]] Field<T> adopt(const std::string& name, std::span<const Adopted<T>> arrays,
                               const FieldOptions& options = {}) {
    static_assert(std::is_trivially_copyable_v<T>, "its bytes are sent");
    std::vector<Adopted<std::byte>> all;
    const auto in_bytes = [](std::int64_t stride) {
      constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
      return stride > kMost / kSize ? kMost : stride < 0 ? -1 : stride * kSize;
    };
    for (const Adopted<T>& one : arrays)
      all.push_back({reinterpret_cast<std::byte*>(one.first),
                     reinterpret_cast<std::byte*>(one.next), in_bytes(one.stride_y),
                     in_bytes(one.stride_z)});
    auto* const data = adopt_field(name, type_of<T>(), all, options);
    return Field<T>(data, last_field());
  }
  template <typename T>
  [[nodiscard]] Field<T> adopt(const std::string& name, const std::vector<Adopted<T>>& arrays,
                               const FieldOptions& options = {}) {
    return adopt(name, std::span<const Adopted<T>>(arrays), options);
  }
  template <typename T>
  [[nodiscard]] Field<T> adopt(const std::string& name, const Adopted<T>& array,
                               const FieldOptions& options = {}) {
    return adopt(name, std::span<const Adopted<T>>(&array, 1), options);
  }
  /// \param strides  [elements] from row to row, and from plane to plane; 0: nothing lies between
  template <typename T>
  [[nodiscard]] Field<T> adopt(const std::string& name, T* first,
                               const std::array<std::int64_t, 2>& strides = {},
                               const FieldOptions& options = {}) {
    return adopt(name, Adopted<T>{first, nullptr, strides[0], strides[1]}, options);
  }
  /// Refused by the compiler, by a sentence.
  template <typename T>
  requires std::is_const_v<T>
  [[nodiscard]] Field<std::remove_const_t<T>> adopt(
      const std::string& name, T* /*first*/, const std::array<std::int64_t, 2>& /*strides*/ = {},
      const FieldOptions& options = {}) {
    static_assert(sizeof(T) == 0, "an exchange writes into the array: it can't be const");
    return add<std::remove_const_t<T>>(name, options);
  }
  /// By size and type; strides are in bytes.
  [[nodiscard]] FieldHandle adopt(const std::string& name, const ElementType& type,
                                  std::span<const Adopted<std::byte>> arrays,
                                  const FieldOptions& options = {}) {
    auto* const data = adopt_field(name, type, arrays, options);
    return FieldHandle(data, last_field());
  }
  /// \}
  /// The cells that a field of such options stores on a subgrid: what it owns, and its ghosts.
  [[nodiscard]] Box stored(const FieldOptions& options = {}, int subgrid = 0) const;

  /// Begins to fill the ghost cells of `fields`, after the work that the streams `after` hold (of
  /// the devices that hold this rank's subgrids; none: their legacy default streams). The first use
  /// of a set of fields, axes and depth plans it, and is collective. Each later use moves bytes
  /// between neighbours alone: all of them call it, in the same order.
  ///
  /// \throws InvalidArgument  an exchange of one of these fields has not ended; when planned, on
  /// all ranks: these give different fields, axes or depths. Error  with STRAKE_CHECK=1: this rank
  /// has read ghost cells too early (docs/how-to/grid.md); as Exchange::start
  [[nodiscard]] Ghosts exchange(const Streams& after = {}, const Fields& fields = {},
                                const GhostOptions& options = {});
  /// Enqueues a whole exchange in `streams`, after the work in them and before what they get later,
  /// with no CPU in it (Exchange::enqueue). In a graph it exchanges the buffers that are current
  /// now: to swap in between, capture a graph for either.
  /// \throws Unsupported  the streams are being captured, and this exchange was not prepared; as
  /// Exchange::enqueue
  void enqueue(const Streams& streams, const Fields& fields = {}, const GhostOptions& options = {});
  /// Plans an exchange, as its first use does. Collective.
  void prepare(const Fields& fields = {}, const GhostOptions& options = {});
  /// Reverse exchange: sends ghost cells to their owners, which merge them with the owned cells, in
  /// the same order in each run. All fields go in one exchange. Enqueued in `streams`, as enqueue()
  /// does it; without streams it comes after the devices' legacy default streams, and returns when
  /// it is done. Planned as exchange() is.
  /// \throws InvalidArgument  `merge` is of other numbers than a field's, or the elements of one
  /// are no numbers. Unsupported  values in a device's memory that devices don't merge, or ranks'
  /// devices don't reach each other; streams are being captured, and these fields were never merged
  /// by `merge` before
  void accumulate(const Streams& streams, const Fields& fields, const Merge& merge,
                  const GhostOptions& options = {});
  /// \{ The compiler refuses fields in the place of the streams by a sentence.
  template <std::derived_from<FieldHandle> Named, typename... Others>
  Ghosts exchange(const Named& field, const Others&... others);
  template <std::derived_from<FieldHandle> Named, typename... Others>
  void enqueue(const Named& field, const Others&... others) {
    streams_come_first<Named>();
  }
  template <std::derived_from<FieldHandle> Named, typename... Others>
  void accumulate(const Named& field, const Others&... others) {
    streams_come_first<Named>();
  }
  /// \}

  /// Makes the next buffer of each field that has two the current one. Then next()
  /// has the previous values, which a scheme of second order in time reads.
  /// \throws InvalidArgument  an exchange has not ended; Error  with STRAKE_CHECK=1, as exchange()
  void swap();

  /// How many subgrids this rank has. Calls below that name none are of the first one. They
  /// \throw InvalidArgument  there is no such subgrid
  [[nodiscard]] int subgrids() const noexcept;
  /// The cells that a subgrid owns.
  [[nodiscard]] const Box& owned(int subgrid = 0) const;
  /// The owned cells whose stencil, of the deepest radius of all fields, reads no neighbour's cell.
  /// The interior reaches up to open ends, and its stencil reads the cells beyond them: set these
  /// before exchange(), not only after wait() (docs/how-to/grid.md, "Open ends").
  [[nodiscard]] Box interior(int subgrid = 0) const;
  /// The owned cells outside of the interior: boxes with no cell in common.
  [[nodiscard]] std::vector<Box> exterior(int subgrid = 0) const;
  /// \{ Interior and exterior of one field, by its own radius; View::owned() is both, also where
  /// the field is on faces.
  [[nodiscard]] Box interior(const FieldHandle& field, int subgrid = 0) const;
  [[nodiscard]] std::vector<Box> exterior(const FieldHandle& field, int subgrid = 0) const;
  /// \}
  /// The owned cells, and `cells` more on each side that has a neighbour, but no more than there
  /// are ghosts: for several steps on deep ghosts.
  [[nodiscard]] Box grown(int cells, int subgrid = 0) const;
  /// The cells that a field stores beyond an open end of the grid on that side of a subgrid, as
  /// wide as all that it stores there; none where the subgrid has a neighbour. No exchange fills
  /// them. \throws InvalidArgument  `face` is not along one axis
  [[nodiscard]] Box boundary(const FieldHandle& field, Direction face, int subgrid = 0) const;
  /// Sets the cells beyond an open end on a side of the grid, in all of this rank's subgrids, in
  /// the current buffer. Local. Enqueued in `streams`, one for each device that has such cells;
  /// without streams it comes after the legacy default streams, and returns when it is done. (The
  /// host waits for the streams: the value is in its memory.) \throws InvalidArgument  as
  /// boundary(); `streams` has none of a device that has such cells; Unsupported  streams are being
  /// captured; the grid is periodic along this axis, and has no end there
  template <typename T>
  void fill(const Field<T>& field, Direction face, const std::type_identity_t<T>& value,
            const Streams& streams = {}) {
    fill(field, face, std::as_bytes(std::span(&value, 1)), streams);
  }
  /// By the bytes of an element.
  void fill(const FieldHandle& field, Direction face, std::span<const std::byte> value,
            const Streams& streams = {});
  /// Sets the cells that fill() sets by those on this side of the end, mirrored about it. (A field
  /// on faces along this axis has a face there, about which its other faces are mirrored.) Corners
  /// are right if the axes are mirrored one after the other, after an exchange. The host does not
  /// wait for `streams`, which may be captured. \throws InvalidArgument  as fill(); the subgrid is
  /// shorter than the mirrored cells
  void mirror(const FieldHandle& field, Direction face, const Streams& streams = {});
  /// The neighbour's rank; nullopt where an open grid ends, or the subgrid has no cells.
  [[nodiscard]] std::optional<int> neighbour(Direction direction, int subgrid = 0) const;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int ranks() const noexcept;
  [[nodiscard]] const Index3& extent() const noexcept;
  /// For people: subgrids, fields, and what goes where.
  [[nodiscard]] std::string plan() const;
  /// The options of this grid, but divided and placed as it is: its counts, and Placement::Given. A
  /// grid of another radius or extent that is made with them, on a communicator of equal ranks,
  /// searches no placement, and each rank keeps its part.
  [[nodiscard]] GridOptions with_this_placement() const;
  /// Writes the exchanges that are planned by now as a graph: `dot -Tsvg PATH` draws the ranks,
  /// with what goes between them. Collective.
  /// \throws Error  on all ranks: the file can't be written
  void write_plan(const std::string& path) const;

  /// Writes the fields at cell centres whose elements are numbers, or arrays of them, for ParaView:
  /// PATH.pvti, and PATH_NUMBER.vti of each subgrid with cells. Collective.
  /// \throws Error  on all ranks: a file can't be written
  void write_vtk(const std::string& path) const;

 private:
  friend class Ghosts;
  class Impl;
  template <typename Named>
  static void streams_come_first() {
    static_assert(sizeof(Named) == 0, "streams come first, then fields: exchange({}, {a, b})");
  }
  template <typename Extent>
  static std::vector<std::int64_t> as_extent(const Extent& extent) {
    std::vector<std::int64_t> made;
    for (const auto cells : extent) made.push_back(static_cast<std::int64_t>(cells));
    return made;
  }
  FieldHandle::Data* add_field(const std::string& name, const ElementType& type,
                               const FieldOptions& options);
  FieldHandle::Data* adopt_field(const std::string& name, const ElementType& type,
                                 std::span<const Adopted<std::byte>> arrays,
                                 const FieldOptions& options);
  [[nodiscard]] int last_field() const noexcept;

  template <typename T>
  struct Components {
    using Type = T;
    static constexpr int kCount = 1;
  };
  template <typename T, std::size_t N>
  struct Components<std::array<T, N>> {
    using Type = T;
    static constexpr int kCount = static_cast<int>(N);
  };
  template <typename T>
  [[nodiscard]] static constexpr ElementType type_of() noexcept {
    using Type = typename Components<T>::Type;
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    return {kSize, number_name<Type>(), Components<T>::kCount};
  }

  struct STRAKE_API Delete {
    void operator()(Impl* impl) const noexcept;
  };
  void unwind() noexcept;

  std::unique_ptr<Impl, Delete> impl_;
  int exceptions_ = std::uncaught_exceptions();  ///< that unwound the stack when it was made
};

/// An exchange that has begun: until it ends, cells that neighbours need must not be changed, and
/// ghost cells not be read. (Cells beyond open ends may be.) STRAKE_CHECK=1 reports both. All calls
/// \throw Error  a rank has given the exchange up, or has died; with STRAKE_CHECK=1: this rank has
/// changed cells too early; MpiError, CudaError
class STRAKE_API Ghosts {
 public:
  Ghosts(Ghosts&& other) noexcept;
  /// Ends the exchange that this object stood for before, as the destructor does. (An exchange of
  /// one of its fields can't begin before: grid.exchange() throws.)
  Ghosts& operator=(Ghosts&& other) noexcept;
  /// Waits for the exchange if neither test() nor wait() has reported its end: the program has
  /// forgotten it. The first time a grid says so on stderr (STRAKE_LOG), on each rank. While an
  /// exception unwinds the stack, the grid's exchanges are given up instead (Exchange::give_up).
  ~Ghosts() {
    // The program's own C++ library knows, as in Exchange::~Exchange.
    end(std::uncaught_exceptions() > exceptions_);
  }

  /// Whether all ghost cells are there; true, too, once the grid is gone. Moves what can be moved.
  bool test();
  /// Whether a subgrid's ghost cells in a direction are there, so that work there can begin; true
  /// if there are none.
  bool test(Direction direction, int subgrid = 0);
  /// Waits for all ghost cells. (The host waits: a kernel that is launched then reads them.)
  /// \param before  streams whose later work waits in place of the host
  void wait(const Streams& before = {});
  /// Waits for a subgrid's ghost cells in a direction.
  void wait(Direction direction, int subgrid = 0);

 private:
  friend class Grid;
  Ghosts(Exchange& exchange, const Grid::Impl& grid) noexcept;
  void end(bool unwinding) noexcept;
  /// Whether the end of the exchange was not reported here, and no later one of its fields has
  /// begun.
  [[nodiscard]] bool is_last() const noexcept;

  Exchange* exchange_;      ///< null once its end was reported
  const Grid::Impl* grid_;  ///< which stays where it is when the Grid is moved
  std::weak_ptr<const void> grid_lives_;
  std::int64_t round_ = 0;                       ///< of the exchange
  int exceptions_ = std::uncaught_exceptions();  ///< that unwound the stack when it was made
};

// The return type is that of the call which was meant, so that the compiler says no more than this.
template <std::derived_from<FieldHandle> Named, typename... Others>
Ghosts Grid::exchange(const Named& field, const Others&... /*others*/) {
  streams_come_first<Named>();
  return exchange(Streams(), Fields(field));
}

}  // namespace strake
