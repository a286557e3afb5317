// Faces, edges and a corner of a cubic grid of doubles with ghost cells on every side.
#include <array>

#include "mpi/case.hpp"

namespace bench {
namespace {

// The part of the grid that the neighbour in direction `direction` needs: `radius` deep where the
// direction is 1, all interior points where it is 0. Dimensions z, y, x: x is contiguous.
Case halo(int interior, int radius, std::array<int, 3> direction) {
  const int size = interior + 2 * radius;
  std::array<int, 3> sizes{size, size, size};
  std::array<int, 3> subsizes{};
  std::array<int, 3> starts{};
  for (std::size_t d = 0; d < 3; ++d) {
    subsizes[d] = direction[d] != 0 ? radius : interior;
    starts[d] = direction[d] != 0 ? interior : radius;  // the high side's last interior points
  }
  Case c;
  c.type = subarray(sizes, subsizes, starts, MPI_DOUBLE);
  c.buffer_bytes = std::int64_t{8} * size * size * size;
  for (int z = starts[0]; z < starts[0] + subsizes[0]; ++z) {
    for (int y = starts[1]; y < starts[1] + subsizes[1]; ++y) {
      c.blocks.push_back({8 * ((std::int64_t{z} * size + y) * size + starts[2]), 8 * subsizes[2]});
    }
  }
  return c;
}

}  // namespace

void add_grid_cases(CaseList& list, bool quick) {
  const int interior = quick ? 16 : 256;
  struct Part {
    const char* name;
    std::array<int, 3> direction;
  };
  const Part parts[] = {{"face_x", {0, 0, 1}},  {"face_y", {0, 1, 0}},  {"face_z", {1, 0, 0}},
                        {"edge_xy", {0, 1, 1}}, {"edge_xz", {1, 0, 1}}, {"edge_yz", {1, 1, 0}},
                        {"corner", {1, 1, 1}}};
  for (const int radius : {1, 3}) {
    for (const Part& part : parts) {
      const std::array<int, 3> direction = part.direction;
      list.push_back(
          {"grid" + std::to_string(interior) + "/" + part.name + "_r" + std::to_string(radius),
           [=] { return halo(interior, radius, direction); }});
    }
  }
}

}  // namespace bench
