/// \file  The loops of strake/stencil.hpp over arrays, which programs do not call themselves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "strake/stencil_kernel.hpp"

namespace strake {

/// Cells of an array: lower[a] <= coordinate a < upper[a].
template <int Dims>
struct CellBox {
  std::array<std::int64_t, Dims> lower{};
  std::array<std::int64_t, Dims> upper{};
};

}  // namespace strake

namespace strake::detail {

/// Bytes of all planes that a stencil reads while it goes through a tile: half of the level-2 cache
/// of the smallest processors of today (1 MiB).
inline constexpr std::int64_t kTileBytes = 512 << 10;

template <typename T, typename V>
struct ArrayPlane {
  const T* first;
  std::int64_t pitch;  ///< [elements] between rows
  template <int Dx, int Row>
  STRAKE_ALWAYS_INLINE V at() const noexcept {
    return load<V>(first + Row * pitch + Dx);
  }
};

/// A source of BlockSums: a block of an array.
template <typename Taps, typename T, typename V>
struct ArrayRows {
  std::array<const T*, std::size_t(Taps::inputs)> first;
  std::int64_t pitch;        ///< [elements] between rows
  std::int64_t plane_pitch;  ///< [elements]
  const std::array<std::int64_t, std::size_t(RunsOf<Taps>::count)>& runs;  ///< of offsets past z

  template <int Run>
  STRAKE_ALWAYS_INLINE ArrayPlane<T, V> plane(int plane) const noexcept {
    constexpr int kInput = Taps::taps[std::size_t(RunsOf<Taps>::begin[Run])].input;
    return {first[kInput] + runs[Run] + plane * plane_pitch, pitch};
  }
  template <int Input>
  STRAKE_ALWAYS_INLINE V own(int plane, int row) const noexcept {
    return load<V>(first[Input] + plane * plane_pitch + row * pitch);
  }
};

/// A stencil at work on arrays of one form.
template <typename Taps, typename T, int Bytes>
class ArrayLoops {
 public:
  static constexpr int kDims = Taps::dims;
  using Strides = std::array<std::int64_t, kMostDims>;
  using Inputs = std::array<const T*, std::size_t(Taps::inputs)>;
  using Numbers = std::array<T, std::size_t(Taps::numbers)>;
  using Box = CellBox<kMostDims>;

  /// `strides` are in elements; the first is 1.
  ArrayLoops(const Numbers& numbers, const Inputs& from, T* to, const Strides& strides) noexcept
      : numbers_(numbers), from_(from), to_(to), strides_(strides) {
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const StencilTap& tap = Taps::taps[std::size_t(RunsOf<Taps>::begin[run])];
      runs_[run] = tap.offset[3] * strides[3] + tap.offset[4] * strides[4];
    }
  }

  /// Tile by tile, each of which is as long along the axes past y as the box.
  void run(const Box& box) const noexcept {
    const auto [width, rows] = tile(box.upper[0] - box.lower[0]);
    for (std::int64_t y = box.lower[1]; y < box.upper[1]; y += rows) {
      for (std::int64_t x = box.lower[0]; x < box.upper[0]; x += width) {
        Box part = box;
        part.lower[0] = x;
        part.lower[1] = y;
        part.upper[0] = std::min(x + width, box.upper[0]);
        part.upper[1] = std::min(y + rows, box.upper[1]);
        run_tile(part);
      }
    }
  }

 private:
  static constexpr int kWidth = Bytes / int(sizeof(T));
  static constexpr int kPlanes = kDims > 2 ? kMostPlanes : 1;
  /// With few taps memory is what bounds them, which brings fewer rows at a time faster. Many taps
  /// share more loads among more rows.
  static constexpr int kRows = kDims < 2                ? 1
                               : Taps::taps.size() > 32 ? kMostSums / kPlanes
                                                        : std::min(4, kMostSums / kPlanes);

  /// Extents of a tile along x and y: full rows, unless only few of them fit.
  static std::array<std::int64_t, 2> tile(std::int64_t width) noexcept {
    std::int64_t planes = kPlanes;  // of the output
    std::int64_t border = 0;        // rows
    for (int run = 0; run < RunsOf<Taps>::count; ++run) {
      const RowRange read = RunsOf<Taps>::read_by(run, kPlanes, 0);
      planes += read.planes;
      border = std::max<std::int64_t>(border, read.rows);
    }
    const std::int64_t cells = kTileBytes / (std::int64_t(sizeof(T)) * planes);
    const std::int64_t rows = cells / std::max<std::int64_t>(width, 1) - border;
    if (kDims == 1) return {std::max<std::int64_t>(width, 1), 1};
    if (rows >= 2 * kRows) return {width, rows / kRows * kRows};
    const std::int64_t narrow = cells / (2 * kRows + border) / 64 * 64;
    return {std::max<std::int64_t>(narrow, 64), 2 * kRows};
  }
  void run_tile(const Box& tile) const noexcept {
    for (std::int64_t m = tile.lower[4]; m < tile.upper[4]; ++m)
      for (std::int64_t l = tile.lower[3]; l < tile.upper[3]; ++l)
        run_planes(tile, tile.lower[0] + l * strides_[3] + m * strides_[4]);
  }
  /// The last planes, the last rows and the last cells of a row are computed with those before
  /// them, twice: sums are equal each time.
  void run_planes(const Box& tile, std::int64_t first) const noexcept {
    using Vector = typename VectorOf<T, Bytes>::type;
    const std::int64_t width = tile.upper[0] - tile.lower[0];
    const bool short_tile =
        tile.upper[1] - tile.lower[1] < kRows || tile.upper[2] - tile.lower[2] < kPlanes;
    if (width < kWidth)
      run_blocks<T, 1, 1>(tile, first, width);
    else if (short_tile)
      run_blocks<Vector, 1, 1>(tile, first, width);
    else
      run_blocks<Vector, kPlanes, kRows>(tile, first, width);
  }
  template <typename V, int Planes, int Rows>
  void run_blocks(const Box& tile, std::int64_t first, std::int64_t width) const noexcept {
    for (std::int64_t k = tile.lower[2]; k < tile.upper[2]; k += Planes) {
      const std::int64_t plane = first + std::min(k, tile.upper[2] - Planes) * strides_[2];
      for (std::int64_t j = tile.lower[1]; j < tile.upper[1]; j += Rows)
        run_rows<V, Planes, Rows>(plane + std::min(j, tile.upper[1] - Rows) * strides_[1], width);
    }
  }
  template <typename V, int Planes, int Rows>
  void run_rows(std::int64_t first, std::int64_t width) const noexcept {
    constexpr auto kStep = std::int64_t(sizeof(V) / sizeof(T));
    const Numbers numbers = numbers_;
    const auto runs = runs_;
    const std::int64_t pitch = strides_[1];
    const std::int64_t plane_pitch = strides_[2];
    for (std::int64_t at = 0; at < width; at += kStep) {
      const std::int64_t from = first + std::min(at, width - kStep);
      ArrayRows<Taps, T, V> source{from_, pitch, plane_pitch, runs};
      for (const T*& input : source.first) input += from;
      BlockSums<Taps, V, Planes, Rows> made;
      made.add_all(source, numbers);
      made.store(to_ + from, pitch, plane_pitch);
    }
  }

  Numbers numbers_;
  Inputs from_;
  T* to_;
  Strides strides_;
  std::array<std::int64_t, std::size_t(RunsOf<Taps>::count)> runs_{};
};

}  // namespace strake::detail
