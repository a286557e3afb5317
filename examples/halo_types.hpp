/// \file  The datatypes of a 3D halo: for each of the 26 directions, which cells leave and which
/// cells arrive.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <vector>

/// A rank's part of the grid: a cube for each field, one after the other in memory, each of n^3
/// cells with `radius` ghost cells on every side; x runs fastest.
struct Block {
  int n = 0;
  int radius = 0;
  int quantities = 0;
  [[nodiscard]] int side() const { return n + 2 * radius; }
  [[nodiscard]] std::size_t cube() const {
    return static_cast<std::size_t>(side()) * static_cast<std::size_t>(side()) *
           static_cast<std::size_t>(side());
  }
  [[nodiscard]] std::size_t cells() const { return cube() * static_cast<std::size_t>(quantities); }
};

/// A direction: -1, 0 or 1 along z, y and x.
using Direction = std::array<int, 3>;

/// A region of a block as an argument of MPI calls: `type` applied at `offset` cells from the
/// block's first.
struct Region {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::ptrdiff_t offset = 0;
};

/// The 26 directions. Direction i is opposite to direction 25 - i.
inline std::vector<Direction> all_directions() {
  std::vector<Direction> directions;
  for (int z = -1; z <= 1; ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        if (z != 0 || y != 0 || x != 0) directions.push_back({z, y, x});
      }
    }
  }
  return directions;
}

namespace halo_detail {

using Triple = std::array<int, 3>;

/// One subarray of four dimensions, the fields outermost.
inline MPI_Datatype as_subarray(const Block& block, const Triple& extent, const Triple& start) {
  const int side = block.side();
  const int sizes[] = {block.quantities, side, side, side};
  const int subsizes[] = {block.quantities, extent[0], extent[1], extent[2]};
  const int starts[] = {0, start[0], start[1], start[2]};
  MPI_Datatype type;
  MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}

/// Rows of a plane, planes of a cube, cubes of the block; the region's first cell is the base
/// address.
inline MPI_Datatype as_vectors(const Block& block, const Triple& extent) {
  const MPI_Aint row = static_cast<MPI_Aint>(block.side()) * static_cast<MPI_Aint>(sizeof(double));
  MPI_Datatype plane;
  MPI_Type_vector(extent[1], extent[2], block.side(), MPI_DOUBLE, &plane);
  MPI_Datatype box;
  MPI_Type_create_hvector(extent[0], 1, row * block.side(), plane, &box);
  MPI_Datatype type;
  MPI_Type_create_hvector(block.quantities, 1, row * block.side() * block.side(), box, &type);
  MPI_Type_free(&plane);
  MPI_Type_free(&box);
  return type;
}

/// A struct of one subarray per field.
inline MPI_Datatype as_struct(const Block& block, const Triple& extent, const Triple& start) {
  const int side = block.side();
  const int sizes[] = {side, side, side};
  MPI_Datatype box;
  MPI_Type_create_subarray(3, sizes, extent.data(), start.data(), MPI_ORDER_C, MPI_DOUBLE, &box);
  const auto count = static_cast<std::size_t>(block.quantities);
  const std::vector<int> lengths(count, 1);
  const std::vector<MPI_Datatype> types(count, box);
  std::vector<MPI_Aint> displacements(count);
  for (std::size_t q = 0; q < count; ++q) {
    displacements[q] = static_cast<MPI_Aint>(q * block.cube() * sizeof(double));
  }
  MPI_Datatype type;
  MPI_Type_create_struct(block.quantities, lengths.data(), displacements.data(), types.data(),
                         &type);
  MPI_Type_free(&box);
  return type;
}

}  // namespace halo_detail

/// The committed type of one direction: the interior's outermost `radius` cells on that side, or,
/// with `ghost`, the ghost cells beyond them. Real programs describe halos in several ways, so this
/// one does too.
inline Region make_region(const Block& block, const Direction& direction, bool ghost) {
  halo_detail::Triple extent;
  halo_detail::Triple start;
  int sides = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int step = direction[axis];
    extent[axis] = step == 0 ? block.n : block.radius;
    start[axis] = step > 0 ? block.n : block.radius;
    if (ghost && step != 0) start[axis] += step * block.radius;
    sides += step != 0 ? 1 : 0;
  }
  Region region;
  const bool x_face = sides == 1 && direction[2] != 0;
  const bool y_face = sides == 1 && direction[1] != 0;
  const bool corner = sides == 3;
  if (x_face) {
    region.type = halo_detail::as_subarray(block, extent, start);
  } else if (y_face || corner) {
    region.type = halo_detail::as_vectors(block, extent);
    const std::ptrdiff_t side = block.side();
    region.offset = (start[0] * side + start[1]) * side + start[2];
  } else {  // z faces and edges
    region.type = halo_detail::as_struct(block, extent, start);
  }
  MPI_Type_commit(&region.type);
  return region;
}
