// Solvers on bricks. Two grids of bricks alternate: one has the values, the other gets the next.
#include <algorithm>
#include <utility>

#include "heat3d/solver.hpp"
#include "strake/bricks.hpp"

namespace {

using Bricks = strake::BrickGrid<double, BrickShape>;

strake::BrickForm brick_form(Form form) {
  static_assert(static_cast<int>(Form::Best) == static_cast<int>(strake::BrickForm::Best));
  return static_cast<strake::BrickForm>(form);
}

class BrickSolver : public Solver {
 public:
  BrickSolver(const Problem& problem, Form form)
      : extent_(problem.extent),
        stencil_(*problem.stencil),
        reaches_{stencil_.reach(), stencil_.reach(), stencil_.reach()},
        now_(problem.comm, problem.extent,
             {.ghost = problem.ghost,
              .periodic = {true, true, true},
              .form = brick_form(form),
              .counts = {problem.counts[0], problem.counts[1], problem.counts[2]}}),
        next_(now_.like()),
        most_(now_.steps_per_exchange(reaches_)),
        steps_(std::min(most_, problem.steps_per_exchange())) {}

  void begin() override {
    now_.before_writing();
    now_.copy_from(first_temperatures(extent_, owned()).data());
  }
  Times round(int steps) override {
    Times times;
    Watch watch;
    now_.start();
    watch.lap(times.pack);
    now_.finish();
    watch.lap(times.wait);
    // The last steps that an exchange is enough for compute the fewest ghosts.
    for (int step = most_ - steps; step < most_; ++step) {
      const auto bricks = now_.bricks_of_step(step, reaches_);
      next_.before_writing(now_);
      stencil_.apply(bricks, now_.view(), next_.view());
      std::swap(now_, next_);
    }
    watch.lap(times.compute);
    return times;
  }
  [[nodiscard]] Costs costs() const override {
    return {static_cast<int>(now_.ghost()[0]), steps_, now_.messages(), now_.bytes_sent()};
  }
  [[nodiscard]] strake::Box owned() const override {
    const strake::BrickCellBox& cells = now_.owned_cells();
    return {{cells.lower[0], cells.lower[1], cells.lower[2]},
            {cells.upper[0], cells.upper[1], cells.upper[2]}};
  }
  [[nodiscard]] std::vector<double> cells(const strake::Box& box) override {
    std::vector<double> made(static_cast<std::size_t>(box.size()));
    if (box == owned()) {
      now_.copy_to(made.data());
      return made;
    }
    for (const int brick : now_.interior()) copy_seen(brick, strake::own_code<3>, box, made);
    // Ghosts have the last numbers, also where they are mapped. No axis has an end.
    const std::int64_t stored = grown(owned(), now_.ghost()[0]).size() / BrickShape::cells;
    const auto first = static_cast<int>(now_.interior().size());
    for (int brick = first; brick < stored; ++brick)
      for (int code = 0; code < View::codes; ++code) copy_seen(brick, code, box, made);
    return made;
  }

 private:
  using View = strake::BrickView<double, BrickShape>;

  /// Copies what a brick sees in the direction `code`, as far as it lies in `box`.
  void copy_seen(int brick, int code, const strake::Box& box, std::vector<double>& cells) {
    const strake::BrickNumbers corner = now_.corner(brick);
    const std::array<int, 3> sides{code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
    strake::Box there;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      there.lower[axis] = corner[axis] + sides[axis] * kBrickSide;
      there.upper[axis] = there.lower[axis] + kBrickSide;
    }
    const double* cell = now_.view().data(brick, code);
    strake::for_each_cell(there, [&](auto i, auto j, auto k) {
      const double value = *cell++;
      if (!box.contains(i, j, k)) return;
      const std::int64_t row = (k - box.lower[2]) * box.extent(1) + j - box.lower[1];
      cells[static_cast<std::size_t>(row * box.extent(0) + i - box.lower[0])] = value;
    });
  }

  strake::Index3 extent_;
  const HeatStencil& stencil_;
  std::array<int, 3> reaches_;
  Bricks now_;
  Bricks next_;
  int most_;   ///< steps that an exchange is enough for: ghosts are stored in whole bricks
  int steps_;  ///< between exchanges
};

}  // namespace

std::unique_ptr<Solver> solver_of_bricks(const Problem& problem, Form form) {
  return std::make_unique<BrickSolver>(problem, form);
}
