/// \file  The problem that heat3d solves: heat in a periodic grid. Cell by cell, by global
/// coordinates.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "heat3d/stencils.hpp"
#include "strake/box.hpp"

/// The grid has a cube of cells for each rank.
struct Problem {
  MPI_Comm comm = MPI_COMM_NULL;
  strake::Index3 extent{};      ///< of the whole grid
  std::array<int, 3> counts{};  ///< ranks along x, y and z
  int ghost = 0;
  bool every_step = false;
  bool exchange_only = false;
  const HeatStencil* stencil = nullptr;

  /// The steps that ghosts of so many cells are enough for.
  [[nodiscard]] int steps_per_exchange() const { return every_step ? 1 : ghost / stencil->reach(); }
  /// How deep the ghosts of an array are: no deeper than the steps between exchanges need.
  [[nodiscard]] int depth_of_arrays() const {
    return exchange_only ? ghost : steps_per_exchange() * stencil->reach();
  }
};

/// The grid for all ranks of `comm`, each with `size` cells along each axis.
Problem problem_of(MPI_Comm comm, std::int64_t size);

/// The first temperatures in a box, x fastest: a hot ball, and a little noise.
std::vector<double> first_temperatures(const strake::Index3& extent, const strake::Box& box);

/// The sum of all ranks' cells in a box of each, times a weight of each cell: without weights the
/// sum would be the same after each step, whatever goes where. Adds by rows, then the sums of
/// ranks in ascending order, so that equal cells give equal bits wherever each form places ranks.
/// Collective; all ranks get it. \param cells  the values in `box`, x fastest
double checksum_of(MPI_Comm comm, const strake::Box& box, const std::vector<double>& cells);
