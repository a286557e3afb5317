/// \file  The stencils of heat3d, chosen when the program runs. Knows nothing of MPI: the kernels,
/// which take a compiler long, are compiled once for all MPI libraries.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "strake/box.hpp"
#include "strake/brick_view.hpp"

inline constexpr int kBrickSide = 8;
using BrickShape = strake::Shape<kBrickSide, kBrickSide, kBrickSide>;

inline constexpr std::array<int, 5> kStencilPoints = {7, 13, 25, 27, 125};

/// Where an array has cell (0, 0, 0), or would have it, and its strides along y and z. [elements]
struct Array {
  double* origin = nullptr;
  std::array<std::int64_t, 2> strides{};
};

/// A step of heat: each cell becomes a mean of cells around it, so that no sum over the grid
/// changes.
class HeatStencil {
 public:
  HeatStencil() = default;
  HeatStencil(const HeatStencil&) = delete;
  HeatStencil& operator=(const HeatStencil&) = delete;
  virtual ~HeatStencil() = default;

  /// How many cells it reaches along each axis.
  [[nodiscard]] virtual int reach() const = 0;
  virtual void apply(std::span<const std::int32_t> bricks,
                     const strake::BrickView<const double, BrickShape>& from,
                     const strake::BrickView<double, BrickShape>& to) const = 0;
  virtual void apply(const strake::Box& cells, const Array& from, const Array& to) const = 0;
};

/// \param points  one of kStencilPoints
std::unique_ptr<HeatStencil> stencil_of(int points);
int reach_of(int points);
