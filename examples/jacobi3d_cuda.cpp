// jacobi3d on CUDA devices: a rank uses one, and its part of the grid lies in that one's memory.
// The steps between two lines are enqueued, kernels and exchanges or graphs of two steps each; on
// one node, where no two ranks share a device, the host waits only before it prints a line. With
// --baseline by plain MPI. All bits of the answer are those of jacobi3d. Source: dissertation 5
// (its Jacobi application).
#include "jacobi3d_cuda.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "jacobi3d_mpi_cuda.hpp"
#include "jacobi3d_program.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"

namespace {

/// Makes a device this process's: ranks of a node take turns. Collective. \returns its number
/// \throws std::invalid_argument  on all ranks: one has no device
int open_device() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0, devices = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  const cudaError_t result = cudaGetDeviceCount(&devices);
  int everywhere = result == cudaSuccess && devices > 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (everywhere == 0)
    throw std::invalid_argument(std::string("a rank has no CUDA device") +
                                (result == cudaSuccess ? "" : ": ") +
                                (result == cudaSuccess ? "" : cudaGetErrorString(result)));
  const int device = rank % devices;
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // from now on the process uses it
  return device;
}

/// Whether each rank has a device of its own. Collective.
bool each_has_its_own(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  using Name = std::array<char, sizeof properties.uuid>;
  Name mine{};
  std::memcpy(mine.data(), &properties.uuid, mine.size());
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<Name> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, all.data(),
                static_cast<int>(mine.size()), MPI_CHAR, MPI_COMM_WORLD);
  std::ranges::sort(all);
  return std::ranges::adjacent_find(all) == all.end();
}

/// What was enqueued once, to be launched many times.
class Graph {
 public:
  /// Captures what `work` enqueues in `stream`. \throws strake::Unsupported  that can't be captured
  Graph(const strake::Stream& stream, const std::function<void()>& work) {
    check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    cudaGraph_t captured = nullptr;
    try {
      work();
    } catch (...) {
      (void)cudaStreamEndCapture(stream.native(), &captured);
      if (captured != nullptr) (void)cudaGraphDestroy(captured);
      (void)cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream.native(), &captured), "cudaStreamEndCapture");
    const cudaError_t made = cudaGraphInstantiate(&graph_, captured, 0);
    (void)cudaGraphDestroy(captured);
    check(made, "cudaGraphInstantiate");
    check(cudaGraphUpload(graph_, stream.native()), "cudaGraphUpload");
  }
  ~Graph() { (void)cudaGraphExecDestroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(const strake::Stream& stream) const {
    check(cudaGraphLaunch(graph_, stream.native()), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

/// Steps in a stream. Grid and quantity are a strake::Grid and its, or a DeviceMpiGrid, which is
/// both.
template <typename AnyGrid, typename AnyField>
class Steps {
 public:
  enum Kind : std::size_t { kAlone, kWithExchanges };  ///< kAlone: kernels, for the time they take
  Steps(AnyGrid& grid, AnyField& u, const DeviceJacobi& jacobi, strake::Stream& stream)
      : grid_(grid),
        u_(u),
        jacobi_(jacobi),
        stream_(stream),
        interior_(grid.interior()),
        exterior_(grid.exterior()) {
    // What is needed first of all is not made in a capture.
    enqueue(2, kWithExchanges);
    stream.synchronize();
  }

  /// From now on two steps are one launch of a graph. \throws strake::Unsupported  they can't be
  void use_graphs() {
    captured_ = current();
    graphs_[kWithExchanges] =
        std::make_unique<Graph>(stream_, [&] { enqueue_two(kWithExchanges); });
    graphs_[kAlone] = std::make_unique<Graph>(stream_, [&] { enqueue_two(kAlone); });
  }
  [[nodiscard]] bool has_graphs() const { return graphs_[kWithExchanges] != nullptr; }

  void enqueue(std::int64_t steps, Kind kind) {
    for (; steps >= 2; steps -= 2) {
      if (graphs_[kind] != nullptr && current() == captured_) {
        graphs_[kind]->launch(stream_);
      } else {
        enqueue_two(kind);
      }
    }
    if (steps == 1) step(kind);
  }
  /// Waits for what was enqueued. \returns the seconds since `begin`
  double finish(double begin) const {
    stream_.synchronize();
    return MPI_Wtime() - begin;
  }

 private:
  /// Names the buffer: cell (0, 0, 0) may be another rank's.
  [[nodiscard]] const double* current() const { return &u_.view()(0, 0, 0); }
  void enqueue_two(Kind kind) {
    for (int i = 0; i < 2; ++i) step(kind);
  }
  void step(Kind kind) { kind == kWithExchanges ? step() : step_alone(); }
  void step() {
    auto ghosts = grid_.exchange(stream_);
    jacobi_.relax(u_.view(), u_.next(), interior_, stream_.native());
    ghosts.wait(stream_);
    jacobi_.relax(u_.view(), u_.next(), exterior_, stream_.native());
    grid_.swap();
  }
  void step_alone() {
    jacobi_.relax(u_.view(), u_.next(), interior_, stream_.native());
    jacobi_.relax(u_.view(), u_.next(), exterior_, stream_.native());
    grid_.swap();
  }

  AnyGrid& grid_;
  AnyField& u_;
  const DeviceJacobi& jacobi_;
  strake::Stream& stream_;
  strake::Region interior_;
  std::vector<strake::Region> exterior_;
  std::array<std::unique_ptr<Graph>, 2> graphs_;  ///< of two steps, by kind
  const double* captured_ = nullptr;              ///< the buffer that was current then
};

template <typename AnySteps, typename AnyField>
Result solve(AnySteps& steps, const AnyField& u, const DeviceJacobi& jacobi,
             const strake::Stream& stream, std::int64_t count) {
  constexpr std::int64_t kTimedAlone = 50;
  // The first ones take longer.
  for (const auto kind : {AnySteps::kWithExchanges, AnySteps::kAlone}) steps.enqueue(4, kind);
  (void)steps.finish(0);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  steps.enqueue(kTimedAlone, AnySteps::kAlone);
  const double alone = steps.finish(begin) / kTimedAlone;

  jacobi.begin(u.view(), stream.native());
  stream.synchronize();
  MPI_Barrier(MPI_COMM_WORLD);
  Result result;
  double spent = 0;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t some = std::min(kStepsPerLine, count - done);
    begin = MPI_Wtime();
    steps.enqueue(some, AnySteps::kWithExchanges);
    spent += steps.finish(begin);
    done += some;
    const double a_step = spent / static_cast<double>(done);
    report(result, done, jacobi.largest_change(u.view(), u.next(), stream.native()), a_step,
           std::max(0.0, 1 - alone / a_step));
  }
  result.checksum = sum_of_ranks(jacobi.checksum(u.view(), stream.native()));
  return result;
}

/// The middle slice in host memory, then as write_png().
void write_png_of_device(const std::string& path, const strake::View<double>& u,
                         strake::Place place, const strake::Index3& extent) {
  const strake::Region slice = middle_slice(u.owned(), extent);
  constexpr std::int64_t kSize = sizeof(double);
  std::vector<double> cells(static_cast<std::size_t>(slice.size()));
  if (!slice.empty()) {
    const strake::Dim rows[] = {{slice.extent(1), u.stride(1) * kSize}};
    const auto there = strake::Layout::box(0, slice.extent(0) * kSize, rows);
    strake::CopyPlan::compile(strake::Layout::dense(there.size_bytes()), {}, there, place)
        .run(
            reinterpret_cast<std::byte*>(cells.data()),
            reinterpret_cast<const std::byte*>(&u(slice.lower[0], slice.lower[1], slice.lower[2])));
  }
  const std::int64_t y = slice.extent(0), z = slice.extent(0) * slice.extent(1);
  double* const origin = cells.data() - (slice.lower[0] + slice.lower[1] * y + slice.lower[2] * z);
  write_png(path, {origin, y, z, slice, slice}, extent);
}

Result run_baseline(const Options& options, strake::Place place) {
  DeviceMpiGrid grid(MPI_COMM_WORLD, options.extent);
  strake::Stream stream = strake::Stream::make(place.device);
  const DeviceJacobi jacobi(options.extent);
  Steps steps(grid, grid, jacobi, stream);
  Result result = solve(steps, grid, jacobi, stream, options.steps);
  result.way = "baseline";
  if (!options.png.empty()) write_png_of_device(options.png, grid.view(), place, options.extent);
  return result;
}

Result run(const Options& options) {
  const strake::Place place{strake::MemoryKind::Device, open_device()};
  if (options.baseline) return run_baseline(options, place);
  strake::Grid grid(MPI_COMM_WORLD, options.extent,
                    {.radius = strake::Radius::faces(1),
                     .periodic = {true, true, true},
                     .counts = options.counts,
                     .place = place});
  auto u = grid.add<double>("temperature");
  strake::Stream stream = strake::Stream::make(place.device);
  const DeviceJacobi jacobi(options.extent);
  grid.prepare();
  Steps steps(grid, u, jacobi, stream);
  const bool graphs_work_well = each_has_its_own(place.device);
  try {
    if (options.graph.value_or(graphs_work_well)) steps.use_graphs();
  } catch (const strake::Unsupported&) {
    // Exchanges with other nodes need the CPU.
    if (options.graph) throw;
  }
  int all_have_graphs = steps.has_graphs() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all_have_graphs, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  Result result = solve(steps, u, jacobi, stream, options.steps);
  if (all_have_graphs != 0) result.way = "graph";
  if (options.plan && grid.rank() == 0) std::fputs(grid.plan().c_str(), stdout);
  if (!options.png.empty()) write_png_of_device(options.png, u.view(), place, options.extent);
  if (!options.vtk.empty()) grid.write_vtk(options.vtk);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr Program kProgram{
      .name = "jacobi3d_cuda",
      .baseline = true,
      .graph = true,
      .notes =
          "  --baseline            by plain MPI, from and to host memory, packed by kernels\n"
          "  --graph, --no-graph   two steps are one CUDA graph, or their kernels and exchanges "
          "are\n"
          "                        enqueued in each step (graphs, where each rank has a device of\n"
          "                        its own, on one node)\n"
          "Each rank uses a device: ranks of a node take turns. The time of a step is that of all\n"
          "work between two lines, until the device has done it. Communication is by how much a\n"
          "step takes longer than its kernels alone, which are timed before the first step.\n"};
  return run_program(kProgram, argc, argv, run);
}
