#include "kernels.hpp"

namespace bench {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kPerThread = kTileCells / kThreads;

__device__ std::uint32_t divided(std::uint32_t n, const Divisor& by) {
  return static_cast<std::uint32_t>(std::uint64_t{n} * by.factor >> by.shift);
}

/// Neighbouring threads copy neighbouring cells. All of a thread's loads are under way before its
/// first store.
__global__ void __launch_bounds__(kThreads) copy_boxes(const BoxCopy* boxes, const Tile* tiles) {
  const Tile tile = tiles[blockIdx.x];
  const BoxCopy box = boxes[tile.box];
  double values[kPerThread];
  double* to[kPerThread];
#pragma unroll
  for (std::uint32_t i = 0; i < kPerThread; ++i) {
    const std::uint32_t n = tile.first + i * kThreads + threadIdx.x;
    to[i] = nullptr;
    if (n >= box.cells) continue;
    const std::uint32_t row = divided(n, box.length);
    const std::uint32_t x = n - row * box.length.divisor;
    const std::uint32_t z = divided(row, box.rows);
    const std::uint32_t y = row - z * box.rows.divisor;
    values[i] = box.from.cells[z * box.from.plane + y * box.from.row + x];
    to[i] = box.to.cells + (z * box.to.plane + y * box.to.row + x);
  }
#pragma unroll
  for (std::uint32_t i = 0; i < kPerThread; ++i) {
    if (to[i] != nullptr) *to[i] = values[i];
  }
}

}  // namespace

cudaError_t launch_copies(const BoxCopy* boxes, const Tile* tiles, std::uint32_t tile_count,
                          cudaStream_t stream) {
  copy_boxes<<<tile_count, kThreads, 0, stream>>>(boxes, tiles);
  return cudaGetLastError();
}

}  // namespace bench
