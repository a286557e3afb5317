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
  const HeatStencil* stencil = nullptr;

  /// The steps that ghosts of so many cells are enough for.
  [[nodiscard]] int steps_per_exchange() const { return every_step ? 1 : ghost / stencil->reach(); }
};

/// The grid for all ranks of `comm`, each with `size` cells along each axis.
Problem problem_of(MPI_Comm comm, std::int64_t size);

/// The first temperatures in a box, x fastest: a hot ball, and a little noise.
std::vector<double> first_temperatures(const strake::Index3& extent, const strake::Box& box);

/// The sum of all cells of all ranks, each times a weight of its own: without weights it would be
/// the same after each step, whatever goes where. Adds by rows, then by ranks in their order.
/// Collective; all ranks get it. \param cells  the values in `owned`, x fastest
double checksum_of(MPI_Comm comm, const strake::Box& owned, const std::vector<double>& cells);
