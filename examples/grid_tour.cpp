// Further features of strake::Grid: a radius by side, fields on faces and nodes, exchanges of some
// fields, ghosts that go back to their owners, arrays of the program's own, and open ends.
#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "strake/grid.hpp"

namespace {

int wrong = 0;
void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "grid_tour: wrong: %s\n", what);
  ++wrong;
}

double value_of(std::int64_t i, std::int64_t j, std::int64_t k) {
  return static_cast<double>(i + 100 * j + 10000 * k);
}
void fill(const strake::View<double>& view) {
  for_each_cell(view.owned(), [&](auto i, auto j, auto k) { view(i, j, k) = value_of(i, j, k); });
}

void own_array(strake::Grid& grid) {
  // An array that the program has: the cells of stored(), here with two numbers behind each row.
  const strake::Box stored = grid.stored();
  const std::int64_t row = stored.extent(0) + 2;
  std::vector<double> array(static_cast<std::size_t>(row * stored.extent(1) * stored.extent(2)));
  auto heat = grid.adopt("heat", array.data(), {row, row * stored.extent(1)});
  fill(heat.view());
  grid.exchange({}, heat).wait();

  // Beyond the open ends: a value on one side, and the cells on this side of the others.
  grid.fill(heat, {-1, 0, 0}, 100.0);
  grid.mirror(heat, {1, 0, 0});
  for (const int side : {-1, 1}) {
    grid.mirror(heat, {0, side, 0});
    grid.mirror(heat, {0, 0, side});
  }
  const strake::Box& owned = grid.owned();
  if (!grid.neighbour({1, 0, 0}))
    check(heat.view()(24, owned.lower[1], owned.lower[2]) ==
              value_of(23, owned.lower[1], owned.lower[2]),
          "a cell beyond the end");
}

void tour() {
  strake::Grid grid(MPI_COMM_WORLD, {24, 20, 16}, {.radius = 1});

  // This stencil reaches two cells down along x, and nowhere else.
  const auto upwind = strake::Radius::sides({2, 0});
  auto tracer = grid.add<double>("tracer", {.radius = upwind});

  // A value on each face between cells along x, and three numbers in each cell.
  auto flux = grid.add<double>("flux", {.at = strake::face_x, .next = false});
  auto velocity = grid.add<std::array<float, 3>>("velocity", {.next = false});

  fill(tracer.view());
  fill(flux.view());
  // Exchanges of some fields: of two, and of one along x only, at most one cell deep.
  grid.exchange({}, {tracer, velocity}).wait();
  grid.exchange({}, {flux}, {.axes = {true, false, false}, .depth = 1}).wait();

  const strake::Box& owned = grid.owned();
  if (grid.neighbour({-1, 0, 0})) {
    for (const std::int64_t back : {1, 2}) {
      const std::int64_t i = owned.lower[0] - back, j = owned.lower[1], k = owned.lower[2];
      check(tracer.view()(i, j, k) == value_of(i, j, k), "a tracer's ghost cell");
    }
  }
  const bool is_last = !grid.neighbour({1, 0, 0});
  check(flux.view().owned().extent(0) == owned.extent(0) + (is_last ? 1 : 0), "the last face");

  // Each cell gives an eighth to the nodes at its corners. Some of these are a neighbour's.
  auto density = grid.add<double>("density", {.at = strake::node, .next = false});
  for_each_cell(owned, [&](auto i, auto j, auto k) {
    for (const int corner : {0, 1, 2, 3, 4, 5, 6, 7})
      density.view()(i + corner % 2, j + corner / 2 % 2, k + corner / 4) += 0.125;
  });
  grid.accumulate({}, {density}, strake::ValueOp::Sum);

  double sum = 0;
  for_each_cell(density.view().owned(),
                [&](auto i, auto j, auto k) { sum += density.view()(i, j, k); });
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check(sum == 24 * 20 * 16, "the sum of all nodes");

  own_array(grid);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  tour();
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
