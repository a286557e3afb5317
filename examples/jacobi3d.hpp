/// \file  The problem that jacobi3d solves: heat in a box between a hot and a cold sphere. Cell by
/// cell, by global coordinates; it knows nothing of ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "strake/view.hpp"

/// Its cells keep their temperature.
struct Sphere {
  strake::Index3 centre;
  std::int64_t radius;
  double temperature;

  [[nodiscard]] bool contains(std::int64_t i, std::int64_t j, std::int64_t k) const {
    const std::int64_t x = i - centre[0], y = j - centre[1], z = k - centre[2];
    return x * x + y * y + z * z <= radius * radius;
  }
  /// The part of `box` that may have cells of it.
  [[nodiscard]] strake::Region within(strake::Region box) const {
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

  explicit Jacobi(const strake::Index3& extent) : extent_(extent) {
    const std::int64_t radius = std::min({extent[0], extent[1], extent[2]}) / 10;
    const strake::Index3 middle{extent[0] / 2, extent[1] / 2, extent[2] / 2};
    spheres_ = {Sphere{{extent[0] / 3, middle[1], middle[2]}, radius, 1.0},
                Sphere{{extent[0] * 2 / 3, middle[1], middle[2]}, radius, 0.0}};
  }

  /// The first temperatures of what this rank owns.
  void begin(const Cells& u) const {
    for_each_cell(u.owned(), [&](auto i, auto j, auto k) { u(i, j, k) = 0.5; });
    hold(u, u.owned());
  }
  /// One step of the cells in `box`: each becomes the mean of its six neighbours.
  void relax(const Cells& from, const Cells& to, const strake::Region& box) const {
    for_each_cell(box, [&](auto i, auto j, auto k) {
      const double along_x = from(i - 1, j, k) + from(i + 1, j, k);
      const double along_y = from(i, j - 1, k) + from(i, j + 1, k);
      const double along_z = from(i, j, k - 1) + from(i, j, k + 1);
      to(i, j, k) = (along_x + along_y + along_z) * (1.0 / 6.0);
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
  /// Of what this rank owns. Their sum over all ranks is the same however the grid is divided; any
  /// bit of any cell changes it.
  [[nodiscard]] std::uint64_t checksum(const Cells& u) const {
    std::uint64_t sum = 0;
    for_each_cell(u.owned(), [&](auto i, auto j, auto k) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &u(i, j, k), sizeof bits);
      const auto number = static_cast<std::uint64_t>((k * extent_[1] + j) * extent_[0] + i);
      sum += mixed(mixed(number) ^ bits);
    });
    return sum;
  }

 private:
  void hold(const Cells& u, const strake::Region& box) const {
    for (const Sphere& sphere : spheres_) {
      for_each_cell(sphere.within(box), [&](auto i, auto j, auto k) {
        if (sphere.contains(i, j, k)) u(i, j, k) = sphere.temperature;
      });
    }
  }
  /// The end of splitmix64.
  static std::uint64_t mixed(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }

  strake::Index3 extent_;
  std::array<Sphere, 2> spheres_;
};
