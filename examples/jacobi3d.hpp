/// \file  The problem that jacobi3d solves: heat in a box between a hot and a cold sphere. Cell by
/// cell, by global coordinates; it knows nothing of ranks. Code on a device calls what has
/// JACOBI_FN (nvcc needs --expt-relaxed-constexpr for std::array there).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "strake/view.hpp"

#if defined(__CUDACC__)
#define JACOBI_FN __host__ __device__
#else
#define JACOBI_FN
#endif

/// A sphere of cells that keep their temperature.
struct Sphere {
  strake::Index3 centre;
  std::int64_t radius;
  double temperature;

  /// The sphere contains those cells of the column (i, j, *) whose distance from its middle plane,
  /// squared, is at most the returned number; below 0: none.
  [[nodiscard]] JACOBI_FN std::int64_t reach_in_column(std::int64_t i, std::int64_t j) const {
    const std::int64_t x = i - centre[0], y = j - centre[1];
    return radius * radius - x * x - y * y;
  }
  [[nodiscard]] JACOBI_FN bool contains(std::int64_t i, std::int64_t j, std::int64_t k) const {
    const std::int64_t z = k - centre[2];
    return z * z <= reach_in_column(i, j);
  }
  /// The part of `box` that may have cells of it.
  [[nodiscard]] strake::Box within(strake::Box box) const {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.lower[axis] = std::max(box.lower[axis], centre[axis] - radius);
      box.upper[axis] = std::min(box.upper[axis], centre[axis] + radius + 1);
    }
    return box;
  }
};

class Jacobi {
 public:
  using Cells = strake::View<double>;
  static constexpr double kBegin = 0.5;  ///< the temperature outside of the spheres

  explicit Jacobi(const strake::Index3& extent) : extent_(extent) {
    const std::int64_t radius = std::min({extent[0], extent[1], extent[2]}) / 10;
    const strake::Index3 middle{extent[0] / 2, extent[1] / 2, extent[2] / 2};
    spheres_ = {Sphere{{extent[0] / 3, middle[1], middle[2]}, radius, 1.0},
                Sphere{{extent[0] * 2 / 3, middle[1], middle[2]}, radius, 0.0}};
  }

  /// The first temperatures of what this rank owns.
  void begin(const Cells& u) const {
    for_each_cell(u.owned(), [&](auto i, auto j, auto k) { u(i, j, k) = kBegin; });
    hold(u, u.owned());
  }
  /// The next value of a cell outside of the spheres: the mean of its neighbours, by pairs along x,
  /// y and z. A CPU and a device compute the same bits.
  [[nodiscard]] static JACOBI_FN double mean(double x0, double x1, double y0, double y1, double z0,
                                             double z1) {
    const double along_x = x0 + x1, along_y = y0 + y1, along_z = z0 + z1;
    return (along_x + along_y + along_z) * (1.0 / 6.0);
  }
  /// One step of the cells in `box`: each becomes the mean of its six neighbours. Not inlined: in a
  /// long function GCC keeps too few of the loop's seven addresses in registers.
  [[gnu::noinline]] void relax(const Cells& from, const Cells& to, const strake::Box& box) const {
    for_each_cell(box, [&](auto i, auto j, auto k) {
      to(i, j, k) = mean(from(i - 1, j, k), from(i + 1, j, k),   //
                         from(i, j - 1, k), from(i, j + 1, k),   //
                         from(i, j, k - 1), from(i, j, k + 1));  //
    });
    hold(to, box);
  }
  /// The largest difference of the two in what this rank owns.
  [[nodiscard]] static double largest_change(const Cells& a, const Cells& b) {
    double largest = 0;
    for_each_cell(a.owned(), [&](auto i, auto j, auto k) {
      largest = std::max(largest, std::abs(a(i, j, k) - b(i, j, k)));
    });
    return largest;
  }
  /// Checksum of the cells that this rank owns. The sum over all ranks is the same however the grid
  /// is divided; any bit of any cell changes it.
  [[nodiscard]] std::uint64_t checksum(const Cells& u) const {
    std::uint64_t sum = 0;
    for_each_cell(u.owned(), [&](auto i, auto j, auto k) { sum += checksum(u(i, j, k), i, j, k); });
    return sum;
  }
  /// Checksum of one cell.
  [[nodiscard]] JACOBI_FN std::uint64_t checksum(double value, std::int64_t i, std::int64_t j,
                                                 std::int64_t k) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto number = static_cast<std::uint64_t>((k * extent_[1] + j) * extent_[0] + i);
    return mixed(mixed(number) ^ bits);
  }
  [[nodiscard]] JACOBI_FN const std::array<Sphere, 2>& spheres() const { return spheres_; }

 private:
  void hold(const Cells& u, const strake::Box& box) const {
    for (const Sphere& sphere : spheres_) {
      for_each_cell(sphere.within(box), [&](auto i, auto j, auto k) {
        if (sphere.contains(i, j, k)) u(i, j, k) = sphere.temperature;
      });
    }
  }
  /// The end of splitmix64.
  static JACOBI_FN std::uint64_t mixed(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }

  strake::Index3 extent_;
  std::array<Sphere, 2> spheres_;
};
