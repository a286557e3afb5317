/// \file  The pictures of heat3d: times as bars, and a slice of the field.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "heat3d/measure.hpp"
#include "heat3d/solver.hpp"

/// Writes the times as SVG: a panel for each size with an axis of its own, and a bar for each form.
/// The parts of a step are stacked; an exchange is one number.
/// \returns  whether the file could be written
bool write_bars(const std::string& path, const std::vector<Result>& results,
                const std::string& title);

/// The cells of the middle plane across z, and the part of each rank that has some of them.
struct Slice {
  struct Part {
    int rank = 0;
    std::int64_t left = 0, right = 0, top = 0, bottom = 0;  ///< [cells]
  };
  std::int64_t width = 0, height = 0;
  std::vector<double> cells;  ///< x fastest
  std::vector<Part> parts;
};

/// Gathers the slice on rank 0; other ranks get an empty one. Collective.
Slice slice_of(MPI_Comm comm, const strake::Index3& extent, Solver& solver);

/// Writes the slice with thin lines between ranks, as SVG or as PPM by the end of the name.
/// \returns  whether the file could be written
bool write_picture(const std::string& path, const Slice& slice);
