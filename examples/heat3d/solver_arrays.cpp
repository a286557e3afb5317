// Solvers on arrays, whose ghost cells come by a strake::Grid or by plain MPI.
#include <algorithm>
#include <utility>

#include "heat3d/neighbours.hpp"
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
        depth_(problem.depth_of_arrays()) {}

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
  [[nodiscard]] std::vector<double> cells(const Box& box) override {
    std::vector<double> made;
    for_each_row(now(), box, [&](const double* row, std::int64_t cells) {
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
  explicit MpiSolver(const Problem& problem)
      : ArraySolver(problem), around_(problem), stored_(grown(around_.owned(), depth())) {
    for (auto& buffer : buffers_) buffer.resize(static_cast<std::size_t>(stored_.size()));
  }

  [[nodiscard]] Box owned() const override { return around_.owned(); }

 protected:
  static constexpr std::size_t kPeers = Neighbours::kCount;
  [[nodiscard]] const Neighbours& around() const { return around_; }
  [[nodiscard]] const Box& stored() const { return stored_; }
  [[nodiscard]] Box sent(std::size_t peer) const {
    return strake::border(owned(), strake::kDirections[peer], depth());
  }
  [[nodiscard]] Box ghosts(std::size_t peer) const {
    return strake::ghosts(owned(), strake::kDirections[peer], depth());
  }
  [[nodiscard]] double* cells_now() { return buffers_[0].data(); }
  [[nodiscard]] Array now() override { return array_of(buffers_[0].data(), stored_); }
  [[nodiscard]] Array next() override { return array_of(buffers_[1].data(), stored_); }
  void swap() override { buffers_[0].swap(buffers_[1]); }

 private:
  Neighbours around_;
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
      MPI_Irecv(cells_now(), 1, ghost_types_[peer], around().rank(peer),
                Neighbours::received_tag(peer), around().comm(), request++);
    for (std::size_t peer = 0; peer < kPeers; ++peer)
      MPI_Isend(cells_now(), 1, sent_types_[peer], around().rank(peer), Neighbours::sent_tag(peer),
                around().comm(), request++);
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
      MPI_Irecv(came_[peer].data(), static_cast<int>(came_[peer].size()), MPI_DOUBLE,
                around().rank(peer), Neighbours::received_tag(peer), around().comm(), request++);
    for (std::size_t peer = 0; peer < kPeers; ++peer) {
      double* to = packed_[peer].data();
      for_each_row(now(), sent(peer), [&](const double* row, std::int64_t cells) {
        to = std::copy_n(row, cells, to);
      });
      MPI_Isend(packed_[peer].data(), static_cast<int>(packed_[peer].size()), MPI_DOUBLE,
                around().rank(peer), Neighbours::sent_tag(peer), around().comm(), request++);
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
