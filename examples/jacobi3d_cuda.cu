// Compiled with -fmad=false: the compiler joins no multiplication with an addition, which would
// give other bits than a CPU's.
#include <stdexcept>
#include <string>

#include "jacobi3d_cuda.hpp"

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(result));
}

namespace {

using Cells = Jacobi::Cells;
using Word = unsigned long long;  // what atomic operations take

// A block of columns of the interior. Rows of 64 cells are loaded with one line too many of 9, and
// 8 rows with two too many of 10; these come from the L2 cache.
constexpr unsigned kWide = 64, kHigh = 8;
// Blocks at a time on a multiprocessor: each thread then has 64 registers, and loads of kAhead
// planes under way.
constexpr unsigned kBlocksAtATime = 2;
constexpr int kAhead = 4;
// A thread walks so many cells along z: it then loads 18 planes for 16.
constexpr std::int64_t kLongestWalk = 16;
// Walks are shorter where there would be fewer blocks than this: four for each multiprocessor of an
// H100.
constexpr std::int64_t kEnoughBlocks = 528;
// Threads in a block of the other kernels, and their most blocks where threads take several cells.
constexpr unsigned kThreads = 128;
constexpr std::int64_t kMostBlocks = 2112;

std::int64_t blocks_for(std::int64_t cells, std::int64_t per_block) {
  return (cells + per_block - 1) / per_block;
}

/// The part of a column of cells that spheres contain.
struct HeldColumn {
  std::int64_t reach[2];
  __device__ HeldColumn(const Jacobi& jacobi, std::int64_t i, std::int64_t j)
      : reach{jacobi.spheres()[0].reach_in_column(i, j),
              jacobi.spheres()[1].reach_in_column(i, j)} {}
  [[nodiscard]] __device__ bool any() const { return reach[0] >= 0 || reach[1] >= 0; }
  /// The next value of cell k: `value`, or the temperature of the last sphere that contains it.
  [[nodiscard]] __device__ double apply(const Jacobi& jacobi, std::int64_t k, double value) const {
    for (int s = 0; s < 2; ++s) {
      const Sphere& sphere = jacobi.spheres()[s];
      const std::int64_t z = k - sphere.centre[2];
      if (z * z <= reach[s]) value = sphere.temperature;
    }
    return value;
  }
};

/// Cells begin <= k < end of the column (i, j). Each is loaded from memory once, as the one above
/// that which is computed: then it is in a register of this thread, and in caches for others. No
/// thread writes what is loaded here, so __ldg lets loads pass the stores before them.
template <bool kHeld>
__device__ void walk(const Jacobi& jacobi, const Cells& from, const Cells& to, std::int64_t i,
                     std::int64_t j, std::int64_t begin, std::int64_t end) {
  const HeldColumn held(jacobi, i, j);
  const std::int64_t from_y = from.stride(1), from_z = from.stride(2), to_z = to.stride(2);
  const double* cell = &from(i, j, begin);
  double* next = &to(i, j, begin);
  double below = __ldg(cell - from_z), here = __ldg(cell);
  const auto step = [&](std::int64_t k, double above) {
    double value = Jacobi::mean(__ldg(cell - 1), __ldg(cell + 1), __ldg(cell - from_y),
                                __ldg(cell + from_y), below, above);
    if (kHeld) value = held.apply(jacobi, k, value);
    *next = value;
    below = here;
    here = above;
    cell += from_z;
    next += to_z;
  };
  std::int64_t k = begin;
  for (; k + kAhead <= end; k += kAhead) {
    double above[kAhead];
#pragma unroll
    for (int n = 0; n < kAhead; ++n) above[n] = __ldg(cell + (n + 1) * from_z);
#pragma unroll
    for (int n = 0; n < kAhead; ++n) step(k + n, above[n]);
  }
#pragma unroll 1
  for (; k < end; ++k) step(k, __ldg(cell + from_z));
}

/// Neighbouring threads walk neighbouring columns.
/// \param first_x  of the first thread: the begin of a line of memory, at or before that of `box`
__global__ void __launch_bounds__(kWide* kHigh, kBlocksAtATime)
    relax_columns(const Jacobi jacobi, const Cells from, const Cells to, const strake::Box box,
                  std::int64_t first_x, std::int64_t length) {
  const std::int64_t i = first_x + static_cast<std::int64_t>(blockIdx.x) * kWide + threadIdx.x;
  const std::int64_t j = box.lower[1] + static_cast<std::int64_t>(blockIdx.y) * kHigh + threadIdx.y;
  if (i < box.lower[0] || i >= box.upper[0] || j >= box.upper[1]) return;
  const std::int64_t begin = box.lower[2] + blockIdx.z * length;
  const std::int64_t end = std::min(begin + length, box.upper[2]);
  if (HeldColumn(jacobi, i, j).any()) {
    walk<true>(jacobi, from, to, i, j, begin, end);
  } else {
    walk<false>(jacobi, from, to, i, j, begin, end);
  }
}

/// A launch for several boxes: a thread for each cell, x fastest; blockIdx.y is the box's number.
struct Boxes {
  static constexpr std::size_t kMost = 6;
  strake::Box all[kMost];

  explicit Boxes(const std::vector<strake::Box>& boxes) {
    if (boxes.size() > kMost) throw std::logic_error("more than six boxes");
    std::copy(boxes.begin(), boxes.end(), all);
  }
  static dim3 blocks_for_all(const std::vector<strake::Box>& boxes) {
    std::int64_t most = 1;
    for (const strake::Box& box : boxes) most = std::max(most, box.size());
    return {static_cast<unsigned>(blocks_for(most, kThreads)), static_cast<unsigned>(boxes.size())};
  }
  /// Calls `visit(i, j, k, n)` for this thread's cell, which is the n-th of all.
  template <typename Visit>
  __device__ void visit_cell(Visit visit) const {
    const strake::Box& box = all[blockIdx.y];
    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (number >= box.size()) return;
    std::int64_t before = 0;
    for (unsigned other = 0; other < blockIdx.y; ++other) before += all[other].size();
    const std::int64_t row = number / box.extent(0);
    visit(box.lower[0] + number % box.extent(0), box.lower[1] + row % box.extent(1),
          box.lower[2] + row / box.extent(1), before + number);
  }
};

__global__ void __launch_bounds__(kThreads)
    relax_boxes(const Jacobi jacobi, const Cells from, const Cells to, const Boxes boxes) {
  boxes.visit_cell([&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t) {
    const double value = Jacobi::mean(__ldg(&from(i - 1, j, k)), __ldg(&from(i + 1, j, k)),
                                      __ldg(&from(i, j - 1, k)), __ldg(&from(i, j + 1, k)),
                                      __ldg(&from(i, j, k - 1)), __ldg(&from(i, j, k + 1)));
    to(i, j, k) = HeldColumn(jacobi, i, j).apply(jacobi, k, value);
  });
}

__global__ void __launch_bounds__(kThreads)
    pack_boxes(const Cells u, const Boxes boxes, double* packed) {
  boxes.visit_cell([&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t n) {
    packed[n] = u(i, j, k);
  });
}

__global__ void __launch_bounds__(kThreads)
    unpack_boxes(const Cells u, const Boxes boxes, const double* packed) {
  boxes.visit_cell([&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t n) {
    u(i, j, k) = packed[n];
  });
}

/// Calls `visit(i, j, k)` for each cell of `region`: all blocks together, a row a block at a time.
template <typename Visit>
__device__ void for_each_cell_of_grid(const strake::Box& region, Visit visit) {
  const std::int64_t rows = region.extent(1) * region.extent(2);
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t j = region.lower[1] + row % region.extent(1);
    const std::int64_t k = region.lower[2] + row / region.extent(1);
    for (std::int64_t i = region.lower[0] + threadIdx.x; i < region.upper[0]; i += kThreads)
      visit(i, j, k);
  }
}

__global__ void __launch_bounds__(kThreads) begin_cells(const Jacobi jacobi, const Cells u) {
  for_each_cell_of_grid(u.owned(), [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    u(i, j, k) = HeldColumn(jacobi, i, j).apply(jacobi, k, Jacobi::kBegin);
  });
}

/// The greatest change of a cell, by its bits: those of positive numbers are in the same order.
struct Change {
  Cells a, b;
  [[nodiscard]] __device__ Word of(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return static_cast<Word>(__double_as_longlong(fabs(a(i, j, k) - b(i, j, k))));
  }
  [[nodiscard]] static __device__ Word both(Word one, Word other) {
    return one > other ? one : other;
  }
  static __device__ void put(Word* result, Word value) { atomicMax(result, value); }
};

struct Checksum {
  Jacobi jacobi;
  Cells u;
  [[nodiscard]] __device__ Word of(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return jacobi.checksum(u(i, j, k), i, j, k);
  }
  [[nodiscard]] static __device__ Word both(Word one, Word other) { return one + other; }
  static __device__ void put(Word* result, Word value) { atomicAdd(result, value); }
};

/// \param result  0 before
template <typename What>
__global__ void __launch_bounds__(kThreads)
    reduce(const What what, const strake::Box region, Word* result) {
  Word value = 0;
  for_each_cell_of_grid(region, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    value = What::both(value, what.of(i, j, k));
  });
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = What::both(value, __shfl_xor_sync(0xFFFFFFFFU, value, lanes));
  if (threadIdx.x % 32 == 0) What::put(result, value);
}

unsigned blocks_for_rows(const strake::Box& region) {
  return static_cast<unsigned>(std::min(region.extent(1) * region.extent(2), kMostBlocks));
}

}  // namespace

void pack(const Cells& u, const std::vector<strake::Box>& boxes, double* packed,
          cudaStream_t stream) {
  pack_boxes<<<Boxes::blocks_for_all(boxes), kThreads, 0, stream>>>(u, Boxes(boxes), packed);
  check(cudaGetLastError(), "pack_boxes");
}

void unpack(const Cells& u, const std::vector<strake::Box>& boxes, const double* packed,
            cudaStream_t stream) {
  unpack_boxes<<<Boxes::blocks_for_all(boxes), kThreads, 0, stream>>>(u, Boxes(boxes), packed);
  check(cudaGetLastError(), "unpack_boxes");
}

DeviceJacobi::DeviceJacobi(const strake::Index3& extent, const strake::Stream& stream)
    : jacobi_(extent), stream_(stream.native()), device_(stream.device()) {
  use_device();
  check(cudaMalloc(&result_, sizeof *result_), "cudaMalloc");
}
DeviceJacobi::~DeviceJacobi() { (void)cudaFree(result_); }

/// A launch fails in a stream of another device than the current one.
void DeviceJacobi::use_device() const { check(cudaSetDevice(device_), "cudaSetDevice"); }

void DeviceJacobi::begin(const Cells& u) const {
  if (u.owned().empty()) return;
  use_device();
  begin_cells<<<blocks_for_rows(u.owned()), kThreads, 0, stream_>>>(jacobi_, u);
  check(cudaGetLastError(), "begin_cells");
}

void DeviceJacobi::relax(const Cells& from, const Cells& to, const strake::Box& box) const {
  if (box.empty()) return;
  use_device();
  // Rows of what a rank owns begin at a line of memory.
  constexpr std::int64_t kLine = 64 / sizeof(double);
  const std::int64_t first_x = box.lower[0] - (box.lower[0] - from.owned().lower[0]) % kLine;
  const std::int64_t across = blocks_for(box.upper[0] - first_x, kWide);
  const std::int64_t high = blocks_for(box.extent(1), kHigh);
  std::int64_t length = kLongestWalk;
  while (length > 1 && across * high * blocks_for(box.extent(2), length) < kEnoughBlocks)
    length /= 2;
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(high),
                  static_cast<unsigned>(blocks_for(box.extent(2), length)));
  relax_columns<<<grid, dim3(kWide, kHigh), 0, stream_>>>(jacobi_, from, to, box, first_x, length);
  check(cudaGetLastError(), "relax_columns");
}

void DeviceJacobi::relax(const Cells& from, const Cells& to,
                         const std::vector<strake::Box>& boxes) const {
  if (boxes.empty()) return;
  use_device();
  relax_boxes<<<Boxes::blocks_for_all(boxes), kThreads, 0, stream_>>>(jacobi_, from, to,
                                                                      Boxes(boxes));
  check(cudaGetLastError(), "relax_boxes");
}

template <typename What>
unsigned long long DeviceJacobi::reduced(const What& what, const strake::Box& region) const {
  Word result = 0;
  if (region.empty()) return result;
  use_device();
  check(cudaMemsetAsync(result_, 0, sizeof result, stream_), "cudaMemsetAsync");
  reduce<<<blocks_for_rows(region), kThreads, 0, stream_>>>(what, region, result_);
  check(cudaGetLastError(), "reduce");
  check(cudaMemcpyAsync(&result, result_, sizeof result, cudaMemcpyDeviceToHost, stream_),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  return result;
}

double DeviceJacobi::largest_change(const Cells& a, const Cells& b) const {
  const Word bits = reduced(Change{a, b}, a.owned());
  double change = 0;
  std::memcpy(&change, &bits, sizeof change);
  return change;
}

std::uint64_t DeviceJacobi::checksum(const Cells& u) const {
  return reduced(Checksum{jacobi_, u}, u.owned());
}
