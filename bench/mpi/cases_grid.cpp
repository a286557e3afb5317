// Faces, edges and a corner of a cubic grid of doubles with ghost cells on every side.
#include "mpi/case.hpp"
#include "support/block_shape.hpp"

namespace bench {
namespace {

// The part of the grid that the neighbour in a direction needs.
Case halo(const BlockShape& grid, strake::Direction direction) {
  return box_case(grid.sent(direction), grid.sizes(), MPI_DOUBLE, 8);
}

}  // namespace

void add_grid_cases(CaseList& list, bool quick) {
  const int interior = quick ? 16 : 256;
  struct Part {
    const char* name;
    strake::Direction direction;
  };
  const Part parts[] = {{"face_x", {1, 0, 0}},  {"face_y", {0, 1, 0}},  {"face_z", {0, 0, 1}},
                        {"edge_xy", {1, 1, 0}}, {"edge_xz", {1, 0, 1}}, {"edge_yz", {0, 1, 1}},
                        {"corner", {1, 1, 1}}};
  for (const int radius : {1, 3}) {
    for (const Part& part : parts) {
      const strake::Direction direction = part.direction;
      list.push_back(
          {"grid" + std::to_string(interior) + "/" + part.name + "_r" + std::to_string(radius),
           [=] {
             return halo({interior, radius}, direction);
           }});
    }
  }
}

}  // namespace bench
