/// \file  The inside of a grid.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "grid/huge_pages.hpp"
#include "grid/subgrid.hpp"
#include "placement/subgrids.hpp"
#include "strake/copy.hpp"
#include "strake/grid.hpp"
#include "strake/place.hpp"

namespace strake {

/// A field of a grid.
struct STRAKE_LOCAL FieldHandle::Data {
  /// The memory of a field in one of this rank's subgrids.
  struct Part {
    std::int64_t bytes = 0;  ///< of an element
    Box owned;
    Box stored;
    std::int64_t stride_y = 0;  ///< [bytes]
    std::int64_t stride_z = 0;  ///< [bytes]
    std::int64_t first = 0;     ///< where the first stored element is in a buffer [bytes]
    std::int64_t size = 0;      ///< of a buffer [bytes]
    /// \param fenced  bytes that belong to no cell lie around each row, each plane and the whole
    Part(std::int64_t element_bytes, const Box& owned, const grid::Depths& ghosts, Place place,
         bool fenced);
    /// For arrays of the user's. \param stride_y, stride_z  [bytes]; 0: nothing lies between
    Part(std::int64_t element_bytes, const Box& owned, const grid::Depths& ghosts,
         std::int64_t stride_y, std::int64_t stride_z);
    /// \param number  of the field in its grid
    /// \param alone  no other process reads host memory of this one
    /// \throws OutOfMemory, CudaError
    void allocate(Place place, std::size_t number, bool with_next, bool alone);
    /// The user's arrays are the buffers.
    void use(std::byte* first_buffer, std::byte* next_buffer) noexcept {
      begins_ = {first_buffer, next_buffer};
    }
    /// The begin of buffer 0 or 1; null if the field has no such buffer.
    [[nodiscard]] std::byte* buffer(std::size_t which) const noexcept { return begins_[which]; }
    /// Size of a buffer. [bytes]
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size; }
    [[nodiscard]] std::int64_t offset_of(const Index3& at) const noexcept {
      return first + (at[0] - stored.lower[0]) * bytes + (at[1] - stored.lower[1]) * stride_y +
             (at[2] - stored.lower[2]) * stride_z;
    }
    /// Bytes of a buffer, counted from its begin.
    [[nodiscard]] Layout layout_of(const Box& cells) const;
    /// The bytes of a fenced buffer that belong to no stored cell.
    [[nodiscard]] Layout fence() const;

   private:
    std::array<SharedArray, 2> shared_{};
    std::array<grid::HugePages, 2> own_{};
    std::array<std::byte*, 2> begins_{};  ///< of the buffers, in memory of either kind
  };
  std::string name;
  std::int64_t bytes = 0;  ///< of an element
  ElementType type;
  FieldOptions options;
  Radius radius;
  std::vector<Part> parts;  ///< by subgrid
  std::size_t current = 0;

  /// \throws InvalidArgument  there is no such subgrid
  [[nodiscard]] const Part& part(int subgrid) const;
  /// The begin of the current buffer of a part, or of the next one.
  /// \throws InvalidArgument  there is no second buffer
  [[nodiscard]] std::byte* buffer(const Part& part, bool next) const;
};

class STRAKE_LOCAL Grid::Impl {
 public:
  Impl(MPI_Comm comm, std::span<const std::int64_t> extent, const GridOptions& options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  using Data = FieldHandle::Data;
  Data* add(const std::string& name, const ElementType& type, const FieldOptions& options);
  /// Strides are in bytes.
  Data* adopt(const std::string& name, const ElementType& type,
              std::span<const Adopted<std::byte>> arrays, const FieldOptions& options);
  [[nodiscard]] Box stored(const FieldOptions& options, int subgrid) const;
  /// The fields, the axes and the depth of an exchange.
  struct Wanted {
    std::vector<int> fields;
    std::array<bool, 3> axes{};
    int depth = -1;
    auto operator<=>(const Wanted&) const = default;
  };
  /// \throws InvalidArgument  a field of another grid, or one twice
  [[nodiscard]] Wanted wanted(const Fields& some, const GhostOptions& given) const;
  Exchange& start(const Wanted& wanted, std::span<Stream> after);
  void enqueue(const Wanted& wanted, std::span<Stream> streams);
  void accumulate(const Wanted& wanted, const Merge& merge, std::span<Stream> streams);
  void wait(Exchange& exchange, std::span<Stream> before) const;
  /// Whether an exchange has ended, or what comes from one rank is there.
  /// \throws Error  also what STRAKE_CHECK=1 finds then
  bool test(Exchange& exchange, std::optional<int> peer = {}) const;
  /// All exchanges: no rank waits for this one.
  void give_up() const noexcept;
  /// An exception unwinds the stack: those that are under way are given up.
  void unwind() const noexcept;
  /// Whether the log says that ghost cells were not waited for.
  mutable bool has_told_of_forgotten = false;
  /// Owned as long as this object lives, for those that may outlive it (Ghosts).
  std::shared_ptr<const void> lives = std::make_shared<char>();
  /// Begins or goes on with one of them. If it fails, the others can't go on either.
  template <typename Move>
  void or_give_up(const Move& move) const;
  /// Planned at its first use, collectively.
  Exchange& planned(const Wanted& wanted);
  /// The current buffers of the wanted fields, by array_number().
  [[nodiscard]] std::vector<std::byte*> bases(const Wanted& wanted) const;
  /// A subgrid, which a rank has.
  struct Subgrid {
    int rank = 0;
    int number = 0;
  };
  /// Which subgrid of which rank a part of the partition is.
  [[nodiscard]] Subgrid subgrid_of(int part) const noexcept;
  /// The part that a subgrid of this rank's is.
  [[nodiscard]] int part_of(int subgrid) const noexcept {
    return placed
        .part_of[static_cast<std::size_t>(first_place[static_cast<std::size_t>(rank)] + subgrid)];
  }
  [[nodiscard]] int subgrids() const noexcept { return static_cast<int>(places.size()); }
  /// \throws InvalidArgument  there is no such subgrid
  void require_subgrid(int number) const;
  [[nodiscard]] std::optional<Subgrid> neighbour(Direction d, int subgrid) const noexcept;
  /// The deepest ghost cells of any field, on sides that have a neighbour.
  [[nodiscard]] grid::Depths needed(int subgrid) const noexcept;
  /// `depths`, but 0 on sides that have no neighbour.
  [[nodiscard]] grid::Depths where_neighbours_are(grid::Depths depths, int subgrid) const noexcept;
  /// \param call  names the caller in the message
  /// \throws InvalidArgument  an exchange of one of these fields has not ended
  void require_ended(const std::vector<int>& some, const char* call) const;
  [[nodiscard]] std::string plan() const;
  /// \{ As of Grid.
  [[nodiscard]] Box boundary(const FieldHandle& field, Direction face, int subgrid) const;
  void fill(const FieldHandle& field, Direction face, std::span<const std::byte> value,
            std::span<Stream> streams);
  void mirror(const FieldHandle& field, Direction face, std::span<Stream> streams);
  /// \}
  void write_vtk(const std::string& path) const;
  void write_plan(const std::string& path) const;

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
  int axes = 0;
  Index3 extent{1, 1, 1};
  GridOptions options;
  std::vector<Place> places;  ///< of this rank's subgrids
  /// \{ All ranks' subgrids, in the order of ranks, are the places of the parts of the grid.
  std::vector<int> first_place;  ///< by rank, and how many there are
  placement::Homes homes;        ///< by place
  placement::PlacedGrid placed;
  std::vector<int> place_of;  ///< by part
  /// \}
  int most_subgrids = 1;   ///< of a rank
  std::vector<Box> owned;  ///< by subgrid
  std::vector<std::unique_ptr<Data>> fields;
  class Check;
  std::unique_ptr<Check> check;  ///< with STRAKE_CHECK=1

 private:
  /// \{ Compares what the ranks give. Collective.
  /// \throws InvalidArgument  on all ranks: they don't give the same; the message says what
  void require_alike(std::span<const std::int64_t> wanted) const;  ///< and the grid's options
  void require_alike(const Data& field) const;                     ///< the next one
  void require_alike(const Wanted& wanted) const;
  /// \}
  void require_places() const;
  void divide();
  /// Gives each place its part. Collective. \throws InvalidArgument, MpiError
  void place();
  [[nodiscard]] placement::GridToPlace to_place() const;
  [[nodiscard]] placement::PlacedGrid chosen() const;
  [[nodiscard]] std::optional<double> predicted(const placement::PlacedGrid& grid,
                                                std::int64_t cell_bytes) const;
  /// Where parts are on several nodes: what was chosen, and what it is expected to be worth.
  [[nodiscard]] std::string placement_text() const;
  void require_room(const Data& field) const;
  [[nodiscard]] std::unique_ptr<Data> described_field(const std::string& name,
                                                      const ElementType& type,
                                                      const FieldOptions& given) const;
  /// \throws InvalidArgument  the arrays do not fit the subgrid
  void adopt_part(Data& field, int subgrid, const Adopted<std::byte>& arrays) const;
  /// Planning takes calls of MPI and memory: not while a graph is captured.
  void require_planned(const Wanted& wanted, std::span<Stream> streams) const;
  [[nodiscard]] ExchangePart part_of(const Wanted& wanted) const;
  /// Number of an array of an exchange: a field's arrays follow each other, by subgrid.
  [[nodiscard]] static int array_number(std::size_t field, int subgrid, int subgrids) noexcept {
    return static_cast<int>(field) * subgrids + subgrid;
  }
  [[nodiscard]] Box owned_at(const At& at, int subgrid) const noexcept;

  std::map<Wanted, std::unique_ptr<Exchange>> exchanges_;
  double seconds_of_placing_ = 0;

  /// Cells beyond an end of a field, and how they are set.
  struct Ends {
    int field = 0;
    int subgrid = 0;
    int face = 0;
    bool mirrored = false;
    auto operator<=>(const Ends&) const = default;
  };
  [[nodiscard]] Layout mirrored(const Data& field, Direction face, int subgrid,
                                const Box& beyond) const;
  const CopyPlan& boundary_plan(const Ends& wanted, const Box& beyond);
  template <typename Set>
  void set_boundary(const FieldHandle& handle, Direction face, bool mirrors,
                    std::span<Stream> streams, const Set& set);
  std::map<Ends, CopyPlan> boundary_plans_;
};

}  // namespace strake
