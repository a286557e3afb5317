// strake::Exchange without a grid: boxes that a program divides by itself, and vertices of an
// unstructured mesh, by their global indices.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "strake/box.hpp"
#include "strake/exchange.hpp"

namespace {

int wrong = 0;
void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "exchange_tour: wrong: %s\n", what);
  ++wrong;
}

std::pair<int, int> rank_and_ranks() {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return {rank, ranks};
}

constexpr std::int64_t kDepth = 2;
constexpr strake::Index3 kExtent = {20, 18, 23};
constexpr std::array<bool, 3> kPeriodic = {true, true, false};
constexpr std::int64_t kDouble = sizeof(double);

double value_of(std::int64_t i, std::int64_t j, std::int64_t k) {
  return static_cast<double>(i + 100 * j + 10000 * k);
}

/// Ranks are numbered x fastest. `own` is in global coordinates, as are those of the array's cells.
strake::ExchangePart part_of_box(const strake::Box& own, const strake::Index3& at,
                                 const strake::Index3& counts) {
  // An array holds the rank's cells, and kDepth ghost cells on each side.
  const strake::Box stored = strake::grown(own, kDepth);
  const auto cells = strake::CellArray::of(stored, kDouble);
  strake::ExchangePart part;
  const int array = part.array({}, stored.size() * kDouble);
  for (const strake::Direction d : strake::kDirections) {
    const auto there = strake::neighbour(at, d, counts, kPeriodic);
    if (!there) continue;  // an open end
    const int peer = static_cast<int>(strake::number_of(*there, counts));
    // Two ranks may be neighbours on both sides. A message's tag is the direction that it goes in.
    part.send(peer, d.number(), array, strake::layout_of(strake::border(own, d, kDepth), cells));
    part.receive(peer, (-d).number(), array,
                 strake::layout_of(strake::ghosts(own, d, kDepth), cells));
  }
  return part;
}

void boxes() {
  const auto [rank, ranks] = rank_and_ranks();
  std::array<int, 3> cuts{};
  MPI_Dims_create(ranks, 3, cuts.data());
  const strake::Index3 counts = {cuts[2], cuts[1], cuts[0]};
  const strake::Index3 at = strake::index_of(rank, counts);
  strake::Box own;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    own.lower[axis] = at[axis] * kExtent[axis] / counts[axis];
    own.upper[axis] = (at[axis] + 1) * kExtent[axis] / counts[axis];
  }
  strake::Exchange exchange(MPI_COMM_WORLD, part_of_box(own, at, counts));

  const strake::Box stored = strake::grown(own, kDepth);
  std::vector<double> u(static_cast<std::size_t>(stored.size()), -1);
  const auto cell = [&](std::int64_t i, std::int64_t j, std::int64_t k) -> double& {
    return u[static_cast<std::size_t>(
        i - stored.lower[0] +
        stored.extent(0) * (j - stored.lower[1] + stored.extent(1) * (k - stored.lower[2])))];
  };
  for_each_cell(own, [&](auto i, auto j, auto k) { cell(i, j, k) = value_of(i, j, k); });
  exchange.start(u.data());
  // Here is time for the cells whose stencil reads no ghost cell.
  exchange.wait();
  for_each_cell(stored, [&](auto i, auto j, auto k) {
    const bool is_beyond = k < 0 || k >= kExtent[2];
    const auto wraps = [](std::int64_t a, std::int64_t n) { return (a + n) % n; };
    check(
        cell(i, j, k) == (is_beyond ? -1 : value_of(wraps(i, kExtent[0]), wraps(j, kExtent[1]), k)),
        "a cell of a box");
  });
}

void vertices() {
  const auto [rank, ranks] = rank_and_ranks();
  // A closed chain of vertices, dealt out to the ranks like cards. An edge joins each vertex to the
  // next one, whose copy the rank has as a ghost.
  constexpr std::int64_t kEach = 7;
  std::vector<std::int64_t> owned, ghosts;
  for (std::int64_t i = 0; i < kEach; ++i) owned.push_back(i * ranks + rank);
  for (const std::int64_t id : owned) ghosts.push_back((id + 1) % (kEach * ranks));

  // Arrays have the owned vertices first, and behind them the ghosts, in the order of the lists.
  auto part = strake::ExchangePart::of_global_ids(MPI_COMM_WORLD, kDouble, {}, owned, ghosts);
  part.array_like(0);  // a second array of the same vertices
  strake::Exchange exchange(MPI_COMM_WORLD, part);
  std::vector<double> height(owned.size() + ghosts.size());
  std::vector<double> mass(height.size());
  for (std::size_t i = 0; i < owned.size(); ++i) height[i] = static_cast<double>(owned[i]);
  for (std::size_t i = 0; i < owned.size(); ++i) mass[i] = 1;

  // Ghosts get the values of their owners.
  exchange.start({height.data(), mass.data()});
  exchange.wait();
  for (std::size_t i = 0; i < ghosts.size(); ++i) {
    check(height[owned.size() + i] == static_cast<double>(ghosts[i]), "the height of a ghost");
    check(mass[owned.size() + i] == 1, "the mass of a ghost");
  }

  // Each edge gives 2 to its first vertex, and 3 to its last one, a ghost. Ghosts go back to their
  // owners, which add them.
  std::fill(height.begin(), height.end(), 0);
  std::fill(mass.begin(), mass.end(), 0);
  for (std::size_t i = 0; i < owned.size(); ++i) {
    mass[i] += 2;
    mass[owned.size() + i] += 3;
  }
  exchange.start_reverse({height.data(), mass.data()}, strake::sum<double>());
  exchange.wait();
  for (std::size_t i = 0; i < owned.size(); ++i) check(mass[i] == 5, "the sum at a vertex");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    boxes();
    vertices();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exchange_tour: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
