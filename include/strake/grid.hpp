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
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "strake/api.hpp"
#include "strake/box.hpp"
#include "strake/exchange.hpp"
#include "strake/place.hpp"
#include "strake/stream.hpp"
#include "strake/view.hpp"

namespace strake {

/// How many cells a stencil reaches, by direction: ghost cells are as deep there, and a direction
/// of 0 is not exchanged.
class Radius {
 public:
  /// `all` cells in each of the 26 directions.
  constexpr Radius(int all = 0) noexcept { cells_.fill(all); }  // NOLINT(*-explicit-*)
  /// Stencils that reach along the axes only.
  [[nodiscard]] static constexpr Radius faces(int cells) noexcept {
    Radius made;
    for (const Direction d : kDirections)
      if (d.order() == 1) made.set(d, cells);
    return made;
  }
  constexpr Radius& set(Direction d, int cells) noexcept {
    cells_[static_cast<std::size_t>(d.number())] = cells;
    return *this;
  }
  [[nodiscard]] constexpr int at(Direction d) const noexcept {
    return cells_[static_cast<std::size_t>(d.number())];
  }
  friend constexpr bool operator==(const Radius&, const Radius&) = default;

 private:
  std::array<int, kDirectionNumbers> cells_{};
};

/// Staggering of a field: along each axis at cell centres, or (true) on the faces normal to it. An
/// open axis has one more face than cells; the last rank owns it.
struct At {
  bool x = false;
  bool y = false;
  bool z = false;
};
inline constexpr At cell{};
inline constexpr At face_x{true, false, false};
inline constexpr At face_y{false, true, false};
inline constexpr At face_z{false, false, true};
inline constexpr At node{true, true, true};

struct GridOptions {
  Radius radius = 1;  ///< of fields that have none of their own
  std::array<bool, 3> periodic{};
  std::array<int, 3> counts{};  ///< of subgrids along each axis; zeroes: by recursive bisection
  Place place{};                ///< host memory, or that of a device
  /// Several subgrids for this rank, each in the memory of its place: one a device, say. Ranks may
  /// have different numbers of them. None: one, at `place`.
  std::vector<Place> places{};
};

struct FieldOptions {
  At at = cell;
  std::optional<Radius> radius{};
  bool next = true;  ///< a second buffer, for Grid::swap()
};

struct GhostOptions {
  std::array<bool, 3> axes{true, true, true};  ///< only directions along these
  int depth = -1;  ///< no more cells than that; -1: as many as the radius says
};

class Grid;

/// A field of a grid, whatever its type. A plain handle; valid as long as the grid.
class STRAKE_API FieldHandle {
 public:
  [[nodiscard]] int number() const noexcept { return number_; }
  struct Data;  ///< the library's own

 protected:
  friend class Grid;
  explicit FieldHandle(Data* data, int number) noexcept : data_(data), number_(number) {}
  [[nodiscard]] std::byte* origin(bool next, int subgrid) const;
  [[nodiscard]] std::array<std::int64_t, 2> strides_bytes(int subgrid) const;
  [[nodiscard]] const Box& owned_region(int subgrid) const;
  [[nodiscard]] const Box& stored_region(int subgrid) const;

  Data* data_;
  int number_;
};

/// A field of elements of type T. Calls \throw InvalidArgument  this rank has no such subgrid
template <typename T>
class Field : public FieldHandle {
 public:
  /// The current values, at their address until the next Grid::swap().
  [[nodiscard]] View<T> view(int subgrid = 0) const { return made(false, subgrid); }
  /// The buffer that the next swap() makes the current one. \throws InvalidArgument  it has none
  [[nodiscard]] View<T> next(int subgrid = 0) const { return made(true, subgrid); }

 private:
  friend class Grid;
  using FieldHandle::FieldHandle;
  [[nodiscard]] View<T> made(bool next, int subgrid) const {
    const auto size = static_cast<std::int64_t>(sizeof(T));
    const auto strides = strides_bytes(subgrid);
    return {reinterpret_cast<T*>(origin(next, subgrid)), strides[0] / size, strides[1] / size,
            owned_region(subgrid), stored_region(subgrid)};
  }
};

/// The fields that a call is for: all of the grid, or those that are named.
class Fields {
 public:
  /// All.
  Fields() noexcept = default;
  // NOLINTBEGIN(*-explicit-*)
  Fields(const FieldHandle& one) : all_(false), named_{one} {}
  Fields(std::initializer_list<FieldHandle> named) : all_(false), named_(named) {}
  Fields(std::span<const FieldHandle> named) : all_(false), named_(named.begin(), named.end()) {}
  template <typename T>
  Fields(const std::vector<Field<T>>& named) : all_(false), named_(named.begin(), named.end()) {}
  // NOLINTEND(*-explicit-*)
  [[nodiscard]] bool all() const noexcept { return all_; }
  [[nodiscard]] std::span<const FieldHandle> named() const noexcept { return named_; }

 private:
  bool all_ = true;
  std::vector<FieldHandle> named_;
};

class Ghosts;

/// A grid of one to three axes, divided by recursive bisection among the ranks of a communicator,
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
  Grid(Grid&&) noexcept;
  Grid& operator=(Grid&&) noexcept;
  /// Collective: all ranks destroy it after the same exchanges. A rank that does so earlier is
  /// named to those that wait for it, as is one that leaves by an exception (Exchange::~Exchange).
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
    auto* const data = add_field(name, sizeof(T), kind_of<T>(), options);
    return Field<T>(data, last_field());
  }

  /// Begins to fill the ghost cells of `fields`, after the work that the streams `after` hold (of
  /// the devices that hold this rank's subgrids; none: their legacy default streams). Planned at
  /// its first use, which is collective, as is each use between neighbours.
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
  /// Reverse exchange: sends ghost cells to their owners, which merge them with the owned cells by
  /// `combine`, one field after the other. Collective; returns when it is done.
  void accumulate(const Fields& fields, const Combine& combine, const GhostOptions& options = {});
  /// \{ The compiler refuses fields in the place of the streams by a sentence.
  template <std::derived_from<FieldHandle> Named, typename... Others>
  void exchange(const Named& field, const Others&... others) {
    streams_come_first<Named>();
  }
  template <std::derived_from<FieldHandle> Named, typename... Others>
  void enqueue(const Named& field, const Others&... others) {
    streams_come_first<Named>();
  }
  /// \}

  /// Makes the next buffer of each field that has two the current one.
  /// \throws InvalidArgument  an exchange has not ended; Error  with STRAKE_CHECK=1, as exchange()
  void swap();

  /// How many subgrids this rank has. Calls below that name none are of the first one. They
  /// \throw InvalidArgument  there is no such subgrid
  [[nodiscard]] int subgrids() const noexcept;
  /// The cells that a subgrid owns.
  [[nodiscard]] const Box& owned(int subgrid = 0) const;
  /// The owned cells whose stencil, of the deepest radius of all fields, reads no neighbour's cell.
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
  /// The neighbour's rank; nullopt where an open grid ends, or the subgrid has no cells.
  [[nodiscard]] std::optional<int> neighbour(Direction direction, int subgrid = 0) const;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int ranks() const noexcept;
  [[nodiscard]] const Index3& extent() const noexcept;
  /// For people: subgrids, fields, and what goes where.
  [[nodiscard]] std::string plan() const;
  /// Writes the exchanges that are planned by now as a graph: `dot -Tsvg PATH` draws the ranks,
  /// with what goes between them. Collective.
  /// \throws Error  on all ranks: the file can't be written
  void write_plan(const std::string& path) const;

  /// Writes the fields at cell centres whose elements are numbers, or arrays of them, for ParaView:
  /// PATH.pvti, and PATH_NUMBER.vti of each subgrid with cells. Collective.
  /// \throws Error  on all ranks: a file can't be written
  void write_vtk(const std::string& path) const;

  /// The type of a field's elements, as a file names it.
  struct ElementKind {
    const char* name = nullptr;  ///< of VTK: "Float64"; null: no number
    int components = 1;
  };

 private:
  friend class Ghosts;
  class Impl;
  template <typename Named>
  static void streams_come_first() {
    static_assert(sizeof(Named) == 0, "streams come first, then fields: exchange({}, {a, b})");
  }
  FieldHandle::Data* add_field(const std::string& name, std::size_t bytes, ElementKind kind,
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
  [[nodiscard]] static constexpr ElementKind kind_of() noexcept {
    using Type = typename Components<T>::Type;
    constexpr int kCount = Components<T>::kCount;
    if constexpr (std::is_floating_point_v<Type> && sizeof(Type) <= 8) {
      return {sizeof(Type) == 8 ? "Float64" : "Float32", kCount};
    } else if constexpr (std::is_integral_v<Type>) {
      constexpr std::array<const char*, 4> kSigned = {"Int8", "Int16", "Int32", "Int64"};
      constexpr std::array<const char*, 4> kUnsigned = {"UInt8", "UInt16", "UInt32", "UInt64"};
      constexpr std::size_t kLog2 = sizeof(Type) == 8 ? 3 : sizeof(Type) / 2;
      return {std::is_signed_v<Type> ? kSigned[kLog2] : kUnsigned[kLog2], kCount};
    } else {
      return {};
    }
  }

  struct STRAKE_API Delete {
    void operator()(Impl* impl) const noexcept;
  };
  void unwind() noexcept;

  std::unique_ptr<Impl, Delete> impl_;
  int exceptions_ = std::uncaught_exceptions();  ///< that unwound the stack when it was made
};

/// An exchange that has begun: until it ends, cells that neighbours need must not be changed, and
/// ghost cells not be read. STRAKE_CHECK=1 reports both. All calls
/// \throw Error  a rank has given the exchange up, or has died; with STRAKE_CHECK=1: this rank has
/// changed cells too early; MpiError, CudaError
class STRAKE_API Ghosts {
 public:
  Ghosts(Ghosts&& other) noexcept;
  /// Ends the exchange that this object stood for before, as the destructor does. (An exchange of
  /// one of its fields can't begin before: grid.exchange() throws.)
  Ghosts& operator=(Ghosts&& other) noexcept;
  /// Waits for the exchange if neither test() nor wait() has reported its end, and says so on
  /// stderr (STRAKE_LOG): the program has forgotten it. While an exception unwinds the stack, the
  /// grid's exchanges are given up instead (Exchange::give_up).
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

}  // namespace strake
