// Heat from one cell of a periodic cube, stored in bricks. Eight steps follow each exchange.
#include <mpi.h>

#include <cstdio>
#include <utility>

#include "strake/bricks.hpp"
#include "strake/stencil.hpp"

using Bricks = strake::BrickGrid<double, strake::Shape<8, 8, 8>>;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double sum = 0;
  {
    constexpr auto heat = strake::star<3, 1>(0.4, 0.1);  // a cell, and each of its six neighbours
    Bricks a(MPI_COMM_WORLD, {64, 64, 64}, {.ghost = 8, .periodic = {true, true, true}});
    Bricks b = a.like();  // grids are all zero at first
    for (const int brick : a.owned())
      if (a.corner(brick) == strake::BrickNumbers{}) a.view()[brick][0][0][0] = 1000;
    const int steps = steps_per_exchange(heat, a);  // 8: each step reaches one cell
    for (int step = 0; step < 100; ++step) {
      if (step % steps == 0) a.exchange();
      apply(heat, a, b, step % steps);
      std::swap(a, b);
    }
    for (const int brick : a.owned())
      for (int cell = 0; cell < Bricks::shape::cells; ++cell) sum += a.view().data(brick)[cell];
  }  // grids end before MPI_Finalize
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  std::printf("%.6f of 1000\n", sum);
  MPI_Finalize();
  return sum > 999.999 && sum < 1000.001 ? 0 : 1;
}
