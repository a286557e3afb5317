#include "heat3d/problem.hpp"

#include <algorithm>

namespace {

/// A number from 0 to 1, which looks random.
double noise_at(std::int64_t i, std::int64_t j, std::int64_t k) {
  auto bits = static_cast<std::uint64_t>((k << 40) + (j << 20) + i) * 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 29U)) * 0xD6E8FEB86659FD93U;
  return static_cast<double>((bits ^ (bits >> 32U)) >> 12U) * 0x1p-52;
}

}  // namespace

Problem problem_of(MPI_Comm comm, std::int64_t size) {
  Problem made{.comm = comm};
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  std::array<int, 3> counts{};  // the most first; cuts across z are the best
  MPI_Dims_create(ranks, 3, counts.data());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.counts[axis] = counts[2 - axis];
    made.extent[axis] = size * made.counts[axis];
  }
  return made;
}

std::vector<double> first_temperatures(const strake::Index3& extent, const strake::Box& box) {
  const auto [x, y, z] = extent;
  // Beside the middle, so that few symmetries hide a fault.
  const strake::Index3 centre{x * 2 / 5, y * 3 / 7, z / 2};
  const std::int64_t radius = std::min({x, y, z}) / 3;
  std::vector<double> made;
  made.reserve(static_cast<std::size_t>(box.size()));
  strake::for_each_cell(box, [&](auto i, auto j, auto k) {
    const std::int64_t a = i - centre[0], b = j - centre[1], c = k - centre[2];
    const double heat = a * a + b * b + c * c < radius * radius ? 1.0 : 0.1;
    made.push_back(heat + 0.05 * noise_at(i, j, k));
  });
  return made;
}

double checksum_of(MPI_Comm comm, const strake::Box& box, const std::vector<double>& cells) {
  double own = 0, row = 0;
  const double* cell = cells.data();
  strake::for_each_cell(box, [&](auto i, auto j, auto k) {
    row += *cell++ * (1 + noise_at(i, j, k));
    if (i + 1 < box.upper[0]) return;
    own += row;
    row = 0;
  });
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  std::vector<double> sums(static_cast<std::size_t>(ranks));
  MPI_Allgather(&own, 1, MPI_DOUBLE, sums.data(), 1, MPI_DOUBLE, comm);
  std::ranges::sort(sums);
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}
