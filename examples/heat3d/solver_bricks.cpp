// Solvers on bricks. Two grids of bricks alternate: one has the values, the other gets the next.
#include <algorithm>
#include <utility>

#include "heat3d/solver.hpp"
#include "strake/bricks.hpp"

namespace {

using Bricks = strake::BrickGrid<double, BrickShape>;

strake::BrickForm brick_form(Form form) {
  static_assert(static_cast<int>(Form::Mapped) == static_cast<int>(strake::BrickForm::Mapped));
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
      next_.before_writing();
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
  [[nodiscard]] std::vector<double> cells() override {
    std::vector<double> made(static_cast<std::size_t>(owned().size()));
    now_.copy_to(made.data());
    return made;
  }

 private:
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
