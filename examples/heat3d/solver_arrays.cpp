// Solvers on arrays, whose ghost cells come by a strake::Grid or by plain MPI.
#include <algorithm>
#include <utility>

#include "heat3d/solver.hpp"
#include "strake/grid.hpp"

namespace {

using strake::Box;
using strake::Direction;
using strake::Index3;

/// An array in which the cells of `stored` lie one after the other, x fastest, from `first` on.
Array array_of(double* first, const Box& stored) {
  const std::int64_t y = stored.extent(0), z = y * stored.extent(1);
  return {first - (stored.lower[0] + stored.lower[1] * y + stored.lower[2] * z), {y, z}};
}

double* cell(const Array& array, std::int64_t i, std::int64_t j, std::int64_t k) {
  return array.origin + i + j * array.strides[0] + k * array.strides[1];
}

/// Calls `visit(first cell, cells)` for each row of a box.
template <typename Visit>
void for_each_row(const Array& array, const Box& box, const Visit& visit) {
  for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k)
    for (std::int64_t j = box.lower[1]; j < box.upper[1]; ++j)
      visit(cell(array, box.lower[0], j, k), box.extent(0));
}

/// The common part: arrays whose ghost cells are as deep as the steps between exchanges need.
class ArraySolver : public Solver {
 public:
  explicit ArraySolver(const Problem& problem)
      : extent_(problem.extent),
        stencil_(*problem.stencil),
        steps_(problem.steps_per_exchange()),
        depth_(steps_ * stencil_.reach()) {}

  void begin() override {
    const std::vector<double> first = first_temperatures(extent_, owned());
    const double* from = first.data();
    for_each_row(now(), owned(), [&](double* row, std::int64_t cells) {
      std::copy_n(from, cells, row);
      from += cells;
    });
  }
  Times round(int steps) override {
    Times times;
    Watch watch;
    exchange(times, watch);
    const Box cells = owned();
    for (int step = steps - 1; step >= 0; --step) {
      stencil_.apply(grown(cells, std::int64_t{step} * stencil_.reach()), now(), next());
      swap();
    }
    watch.lap(times.compute);
    return times;
  }
  [[nodiscard]] Costs costs() const override {
    Costs made{depth_, steps_, static_cast<int>(strake::kDirections.size()), 0};
    for (const Direction d : strake::kDirections)
      made.bytes +=
          strake::border(owned(), d, depth_).size() * static_cast<std::int64_t>(sizeof(double));
    return made;
  }
  [[nodiscard]] std::vector<double> cells() override {
    std::vector<double> made;
    for_each_row(now(), owned(), [&](const double* row, std::int64_t cells) {
      made.insert(made.end(), row, row + cells);
    });
    return made;
  }

 protected:
  [[nodiscard]] int depth() const { return depth_; }
  /// Fills the ghost cells of now().
  virtual void exchange(Times& times, Watch& watch) = 0;
  [[nodiscard]] virtual Array now() = 0;
  [[nodiscard]] virtual Array next() = 0;
  virtual void swap() = 0;

 private:
  Index3 extent_;
  const HeatStencil& stencil_;
  int steps_;
  int depth_;
};

/// Ghost cells by a strake::Grid.
class GridSolver : public ArraySolver {
 public:
  explicit GridSolver(const Problem& problem)
      : ArraySolver(problem),
        grid_(problem.comm, problem.extent,
              {.radius = depth(), .periodic = {true, true, true}, .counts = problem.counts}),
        field_(grid_.add<double>("temperature")) {}

  [[nodiscard]] Box owned() const override { return grid_.owned(); }

 protected:
  void exchange(Times& times, Watch& watch) override {
    auto ghosts = grid_.exchange();
    watch.lap(times.pack);
    ghosts.wait();
    watch.lap(times.wait);
  }
  [[nodiscard]] Array now() override { return array_of_view(field_.view()); }
  [[nodiscard]] Array next() override { return array_of_view(field_.next()); }
  void swap() override { grid_.swap(); }

 private:
  static Array array_of_view(const strake::View<double>& view) {
    const auto [i, j, k] = view.stored().lower;
    const std::int64_t y = view.stride(1), z = view.stride(2);
    return {&view(i, j, k) - (i + j * y + k * z), {y, z}};
  }
  strake::Grid grid_;
  strake::Field<double> field_;
};

/// The common part of solvers by plain MPI: two arrays, and the ranks around this one.
class MpiSolver : public ArraySolver {
 public:
  explicit MpiSolver(const Problem& problem) : ArraySolver(problem) {
    // MPI counts the last dimension fastest; here x is.
    const std::array<int, 3> dims{problem.counts[2], problem.counts[1], problem.counts[0]};
    constexpr std::array<int, 3> kPeriodic{1, 1, 1};
    MPI_Cart_create(problem.comm, 3, dims.data(), kPeriodic.data(), 0, &cart_);
    int rank = 0;
    std::array<int, 3> at{};
    MPI_Comm_rank(cart_, &rank);
    MPI_Cart_coords(cart_, rank, 3, at.data());
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t size = problem.extent[axis] / problem.counts[axis];
      owned_.lower[axis] = at[2 - axis] * size;
      owned_.upper[axis] = owned_.lower[axis] + size;
    }
    for (const Direction d : strake::kDirections) {
      const std::array<int, 3> there{at[0] + d.z, at[1] + d.y, at[2] + d.x};
      MPI_Cart_rank(cart_, there.data(), &ranks_.emplace_back());
    }
    stored_ = grown(owned_, depth());
    for (auto& buffer : buffers_) buffer.resize(static_cast<std::size_t>(stored_.size()));
  }
  ~MpiSolver() override { MPI_Comm_free(&cart_); }

  [[nodiscard]] Box owned() const override { return owned_; }

 protected:
  static constexpr std::size_t kPeers = strake::kDirections.size();
  [[nodiscard]] MPI_Comm cart() const { return cart_; }
  [[nodiscard]] int rank_at(std::size_t peer) const { return ranks_[peer]; }
  [[nodiscard]] const Box& stored() const { return stored_; }
  [[nodiscard]] Box sent(std::size_t peer) const {
    return strake::border(owned_, strake::kDirections[peer], depth());
  }
  [[nodiscard]] Box ghosts(std::size_t peer) const {
    return strake::ghosts(owned_, strake::kDirections[peer], depth());
  }
  /// \{ A message's tag is the direction in which it is sent.
  [[nodiscard]] static int sent_tag(std::size_t peer) { return strake::kDirections[peer].number(); }
  [[nodiscard]] static int received_tag(std::size_t peer) {
    return (-strake::kDirections[peer]).number();
  }
  /// \}
  [[nodiscard]] double* cells_now() { return buffers_[0].data(); }
  [[nodiscard]] Array now() override { return array_of(buffers_[0].data(), stored_); }
  [[nodiscard]] Array next() override { return array_of(buffers_[1].data(), stored_); }
  void swap() override { buffers_[0].swap(buffers_[1]); }

 private:
  MPI_Comm cart_ = MPI_COMM_NULL;
  std::vector<int> ranks_;  ///< in the order of kDirections
  Box owned_;
  Box stored_;
  std::array<std::vector<double>, 2> buffers_;
};

/// Ghost cells by datatypes, which the MPI library packs.
class TypesSolver : public MpiSolver {
 public:
  explicit TypesSolver(const Problem& problem) : MpiSolver(problem) {
    for (std::size_t peer = 0; peer < kPeers; ++peer) {
      sent_types_[peer] = datatype_of(sent(peer));
      ghost_types_[peer] = datatype_of(ghosts(peer));
    }
  }
  ~TypesSolver() override {
    for (auto* const types : {&sent_types_, &ghost_types_})
      for (MPI_Datatype& type : *types) MPI_Type_free(&type);
  }

 protected:
  void exchange(Times& times, Watch& watch) override {
    std::array<MPI_Request, 2 * kPeers> requests;
    MPI_Request* request = requests.data();
    for (std::size_t peer = 0; peer < kPeers; ++peer)
      MPI_Irecv(cells_now(), 1, ghost_types_[peer], rank_at(peer), received_tag(peer), cart(),
                request++);
    for (std::size_t peer = 0; peer < kPeers; ++peer)
      MPI_Isend(cells_now(), 1, sent_types_[peer], rank_at(peer), sent_tag(peer), cart(),
                request++);
    watch.lap(times.pack);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    watch.lap(times.wait);
  }

 private:
  [[nodiscard]] MPI_Datatype datatype_of(const Box& cells) const {
    std::array<int, 3> sizes{}, parts{}, starts{};
    for (int a = 0; a < 3; ++a) {
      const auto axis = static_cast<std::size_t>(a);
      sizes[2 - axis] = static_cast<int>(stored().extent(a));
      parts[2 - axis] = static_cast<int>(cells.extent(a));
      starts[2 - axis] = static_cast<int>(cells.lower[axis] - stored().lower[axis]);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(3, sizes.data(), parts.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE,
                             &type);
    MPI_Type_commit(&type);
    return type;
  }
  std::array<MPI_Datatype, kPeers> sent_types_{};
  std::array<MPI_Datatype, kPeers> ghost_types_{};
};

/// Ghost cells by loops that pack and unpack messages.
class PackSolver : public MpiSolver {
 public:
  explicit PackSolver(const Problem& problem) : MpiSolver(problem) {
    for (std::size_t peer = 0; peer < kPeers; ++peer) {
      packed_[peer].resize(static_cast<std::size_t>(sent(peer).size()));
      came_[peer].resize(static_cast<std::size_t>(ghosts(peer).size()));
    }
  }

 protected:
  void exchange(Times& times, Watch& watch) override {
    std::array<MPI_Request, 2 * kPeers> requests;
    MPI_Request* request = requests.data();
    for (std::size_t peer = 0; peer < kPeers; ++peer)
      MPI_Irecv(came_[peer].data(), static_cast<int>(came_[peer].size()), MPI_DOUBLE, rank_at(peer),
                received_tag(peer), cart(), request++);
    for (std::size_t peer = 0; peer < kPeers; ++peer) {
      double* to = packed_[peer].data();
      for_each_row(now(), sent(peer), [&](const double* row, std::int64_t cells) {
        to = std::copy_n(row, cells, to);
      });
      MPI_Isend(packed_[peer].data(), static_cast<int>(packed_[peer].size()), MPI_DOUBLE,
                rank_at(peer), sent_tag(peer), cart(), request++);
    }
    watch.lap(times.pack);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    watch.lap(times.wait);
    for (std::size_t peer = 0; peer < kPeers; ++peer) {
      const double* from = came_[peer].data();
      for_each_row(now(), ghosts(peer), [&](double* row, std::int64_t cells) {
        std::copy_n(from, cells, row);
        from += cells;
      });
    }
    watch.lap(times.pack);
  }

 private:
  std::array<std::vector<double>, kPeers> packed_;
  std::array<std::vector<double>, kPeers> came_;
};

}  // namespace

std::unique_ptr<Solver> solver_of_arrays(const Problem& problem, Form form) {
  if (form == Form::Grid) return std::make_unique<GridSolver>(problem);
  if (form == Form::Types) return std::make_unique<TypesSolver>(problem);
  return std::make_unique<PackSolver>(problem);
}
