// Faces, edges and a corner of a cubic grid of doubles with ghost cells on every side.
#include "mpi/case.hpp"

namespace bench {
namespace {

// The part of the grid that the neighbour in a direction needs: `radius` deep where the direction
// is 1, all interior points where it is 0.
Case halo(int interior, int radius, strake::Direction direction) {
  const std::int64_t size = interior + 2 * radius;
  const std::int64_t end = radius + interior;
  const strake::Box points{{radius, radius, radius}, {end, end, end}};
  return box_case(strake::border(points, direction, radius), {size, size, size}, MPI_DOUBLE, 8);
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
           [=] { return halo(interior, radius, direction); }});
    }
  }
}

}  // namespace bench
