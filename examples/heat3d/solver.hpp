/// \file  The solvers of heat3d: one for each form, with one interface.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "heat3d/options.hpp"
#include "heat3d/problem.hpp"
#include "strake/box.hpp"

/// The time of one rank. [s]
struct Times {
  double compute = 0;
  double pack = 0;
  double wait = 0;
  [[nodiscard]] double total() const { return compute + pack + wait; }
};

class Watch {
 public:
  /// Adds the time since the last call to `part`.
  void lap(double& part) {
    const double now = MPI_Wtime();
    part += now - last_;
    last_ = now;
  }

 private:
  double last_ = MPI_Wtime();
};

/// An exchange of one rank.
struct Costs {
  int ghost = 0;  ///< how deep the ghost cells are
  int steps = 1;  ///< between exchanges
  int messages = 0;
  std::int64_t bytes = 0;  ///< sent
};

class Solver {
 public:
  Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  virtual ~Solver() = default;

  /// Sets the cells to the first temperatures. Collective.
  virtual void begin() = 0;
  /// An exchange, then `steps` steps, no more than costs().steps; 0: the exchange alone.
  /// Collective.
  virtual Times round(int steps) = 0;
  [[nodiscard]] virtual Costs costs() const = 0;
  /// The cells that this rank owns.
  [[nodiscard]] virtual strake::Box owned() const = 0;
  /// The values in a box of owned cells and ghosts as the stencil reads them, x fastest.
  [[nodiscard]] virtual std::vector<double> cells(const strake::Box& box) = 0;
};

/// \{ Collective. \throws strake::Error
std::unique_ptr<Solver> solver_of_bricks(const Problem& problem, Form form);
std::unique_ptr<Solver> solver_of_arrays(const Problem& problem, Form form);
std::unique_ptr<Solver> solver_of_buffers(const Problem& problem);
/// \}
