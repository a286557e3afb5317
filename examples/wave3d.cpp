// A wave in a box that is periodic along x and y, and open along z: driven at one end, mirrored at
// the other. The exchange overlaps with the interior. The program has the arrays: two, for a scheme
// of second order in time. Each rank compares its cells with a run on one rank, byte by byte.
#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "strake/grid.hpp"

namespace {

constexpr std::array<int, 3> kExtent = {20, 18, 24};
constexpr int kSteps = 40;
constexpr double kSpeed = 0.05;

struct Free {
  void operator()(double* array) const noexcept { std::free(array); }
};
using Array = std::unique_ptr<double, Free>;

Array allocated(const strake::Box& cells) {
  Array made(static_cast<double*>(
      std::calloc(static_cast<std::size_t>(cells.size()) + 1, sizeof(double))));
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

double start_at(std::int64_t i, std::int64_t j, std::int64_t k) {
  return std::sin(0.3 * static_cast<double>(i)) * std::cos(0.2 * static_cast<double>(j)) +
         0.01 * static_cast<double>((i * 7 + j * 5 + k * 3) % 11);
}

/// `next` has the values before those of `u`, and gets the ones after. The stencil reads the
/// neighbours across faces and edges.
void advance(const strake::View<double>& u, const strake::View<double>& next,
             const strake::Box& box) {
  for_each_cell(box, [&](auto i, auto j, auto k) {
    const double faces = u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) +
                         u(i, j, k - 1) + u(i, j, k + 1);
    const double edges = u(i - 1, j, k - 1) + u(i + 1, j, k - 1) + u(i, j - 1, k - 1) +
                         u(i, j + 1, k - 1) + u(i - 1, j, k + 1) + u(i + 1, j, k + 1) +
                         u(i, j - 1, k + 1) + u(i, j + 1, k + 1);
    next(i, j, k) = 2 * u(i, j, k) - next(i, j, k) + kSpeed * (2 * faces + edges - 20 * u(i, j, k));
  });
}

class Wave {
 public:
  explicit Wave(MPI_Comm comm) : grid_(comm, kExtent, {.periodic = {true, true, false}}) {
    // Two arrays of malloc's: the cells of stored(), ghosts included, x first.
    now_ = allocated(grid_.stored());
    before_ = allocated(grid_.stored());
    u_ = grid_.adopt("u", strake::Adopted<double>{.first = now_.get(), .next = before_.get()});
    for_each_cell(grid_.owned(), [&](auto i, auto j, auto k) {
      u_.view()(i, j, k) = start_at(i, j, k);
      u_.next()(i, j, k) = start_at(i, j, k);  // the values a step before
    });
  }
  void step(int number) {
    // The interior reaches up to the open ends, and its stencil reads the cells beyond them.
    set_ends(number);
    auto ghosts = grid_.exchange();
    advance(u_.view(), u_.next(), grid_.interior());
    ghosts.wait();
    // Beyond an end, the edges beside a neighbour mirror ghost cells, which are there now.
    set_ends(number);
    for (const strake::Box& box : grid_.exterior()) advance(u_.view(), u_.next(), box);
    grid_.swap();
  }
  [[nodiscard]] strake::View<double> cells() const { return u_.view(); }

 private:
  void set_ends(int number) {
    grid_.fill(u_, {0, 0, -1}, 0.5 * std::sin(0.2 * number));
    grid_.mirror(u_, {0, 0, 1});
  }
  Array now_;  // the arrays outlive the grid
  Array before_;
  strake::Grid grid_;
  strake::Field<double> u_;
};

/// How many cells of this rank's differ from those of a run on one rank.
int cells_that_differ() {
  Wave wave(MPI_COMM_WORLD);
  Wave alone(MPI_COMM_SELF);
  for (int number = 0; number < kSteps; ++number) {
    wave.step(number);
    alone.step(number);
  }
  int wrong = 0;
  for_each_cell(wave.cells().owned(), [&](auto i, auto j, auto k) {
    if (std::memcmp(&wave.cells()(i, j, k), &alone.cells()(i, j, k), sizeof(double)) != 0) ++wrong;
  });
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int wrong = 0;
  try {
    wrong = cells_that_differ();  // all grids end before MPI_Finalize
  } catch (const std::exception& error) {
    // A fault may be this rank's alone, and the others would wait for it: the job ends.
    std::fprintf(stderr, "wave3d: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (wrong != 0) std::fprintf(stderr, "wave3d: %d cells differ\n", wrong);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
