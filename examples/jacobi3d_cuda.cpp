// jacobi3d on CUDA devices: a rank uses one, or several (--gpus-a-rank), and has a subgrid in the
// memory of each. The steps between two lines are enqueued, kernels and exchanges or graphs of two
// steps each; on one node, where no two ranks share a device, the host waits only before it prints
// a line. With --baseline by plain MPI. All bits of the answer are those of jacobi3d. Source:
// dissertation 5 (its Jacobi application).
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
#include <string>
#include <vector>

#include "jacobi3d_mpi_cuda.hpp"
#include "jacobi3d_program.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"

namespace {

/// Makes devices this process's: ranks of a node take turns. Collective. \returns their memories
/// \throws std::invalid_argument  on all ranks: one has fewer devices
std::vector<strake::Place> open_devices(int a_rank) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0, devices = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  const cudaError_t result = cudaGetDeviceCount(&devices);
  int fewest = result == cudaSuccess ? devices : 0;
  MPI_Allreduce(MPI_IN_PLACE, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (fewest == 0)
    throw std::invalid_argument(std::string("a rank has no CUDA device") +
                                (result == cudaSuccess ? "" : ": ") +
                                (result == cudaSuccess ? "" : cudaGetErrorString(result)));
  if (fewest < a_rank)
    throw std::invalid_argument("--gpus-a-rank " + std::to_string(a_rank) +
                                ": more than a rank's node has (" + std::to_string(fewest) + ")");
  std::vector<strake::Place> places;
  for (int i = 0; i < a_rank; ++i) {
    const int device = (rank * a_rank + i) % devices;
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaFree(nullptr), "cudaFree");  // from now on the process uses it
    places.push_back({strake::MemoryKind::Device, device});
  }
  return places;
}

/// Whether no two ranks share a device. Collective.
bool each_has_its_own(const std::vector<strake::Place>& places) {
  cudaDeviceProp properties{};
  using Name = std::array<char, sizeof properties.uuid>;
  std::vector<Name> mine(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    check(cudaGetDeviceProperties(&properties, places[i].device), "cudaGetDeviceProperties");
    std::memcpy(mine[i].data(), &properties.uuid, sizeof(Name));
  }
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<Name> all(mine.size() * static_cast<std::size_t>(ranks));
  const int bytes = static_cast<int>(mine.size() * sizeof(Name));
  MPI_Allgather(mine.data(), bytes, MPI_CHAR, all.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
  std::ranges::sort(all);
  return std::ranges::adjacent_find(all) == all.end();
}

/// Work that was enqueued once, to be launched many times.
class Graph {
 public:
  /// Captures what `work` enqueues in `stream`, and in others that join it.
  /// \throws strake::Unsupported  the work can't be captured
  Graph(const strake::Stream& stream, const std::function<void()>& work) {
    use_device_of(stream);
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
    use_device_of(stream);
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
    use_device_of(stream);
    check(cudaGraphLaunch(graph_, stream.native()), "cudaGraphLaunch");
  }

 private:
  static void use_device_of(const strake::Stream& stream) {
    check(cudaSetDevice(stream.device()), "cudaSetDevice");
  }
  cudaGraphExec_t graph_ = nullptr;
};

/// Steps on a rank's devices, in a stream of each. `grid` and `u` are a strake::Grid and its field,
/// or a DeviceMpiGrid, which is both.
template <typename AnyGrid, typename AnyField>
class Steps {
 public:
  enum Kind : std::size_t { kAlone, kWithExchanges };  ///< kAlone: kernels, for the time they take
  /// \param places  of the subgrids
  Steps(AnyGrid& grid, AnyField& u, const strake::Index3& extent,
        const std::vector<strake::Place>& places)
      : grid_(grid), u_(u), joins_(places.size()) {
    for (const strake::Place place : places) {
      const int subgrid = static_cast<int>(parts_.size());
      streams_.push_back(strake::Stream::make(place.device));
      parts_.push_back({subgrid, grid.interior(subgrid), grid.exterior(subgrid),
                        std::make_unique<DeviceJacobi>(extent, streams_.back())});
    }
    // Two steps do here what is done at first use only, and can't be done in a capture.
    enqueue(2, kWithExchanges);
    synchronize();
  }

  /// From now on two steps are one launch of a graph. \throws strake::Unsupported  they can't be
  void use_graphs() {
    for (const Kind kind : {kWithExchanges, kAlone}) capture(kind);
  }
  [[nodiscard]] bool has_graphs() const { return graphs_[kWithExchanges] != nullptr; }

  void begin() const {
    for (const Part& part : parts_) part.jacobi->begin(u_.view(part.subgrid));
    synchronize();
  }
  void enqueue(std::int64_t steps, Kind kind) {
    // A graph is in the first stream: it comes after the work of the others, and before their next.
    if (steps >= 2 && !swapped_ && graphs_[kind] != nullptr) {
      join();
      for (; steps >= 2; steps -= 2) graphs_[kind]->launch(streams_.front());
      fork();
    }
    for (; steps > 0; --steps) step(kind);
  }
  /// Waits for what was enqueued. \returns the seconds since `begin`
  double finish(double begin) const {
    synchronize();
    return MPI_Wtime() - begin;
  }
  /// \{ Largest change and checksum of this rank's cells.
  [[nodiscard]] double largest_change() const {
    double largest = 0;
    for (const Part& part : parts_)
      largest = std::max(largest,
                         part.jacobi->largest_change(u_.view(part.subgrid), u_.next(part.subgrid)));
    return largest;
  }
  [[nodiscard]] std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (const Part& part : parts_) sum += part.jacobi->checksum(u_.view(part.subgrid));
    return sum;
  }
  /// \}

 private:
  /// A subgrid, and what computes it in its device's stream.
  struct Part {
    int subgrid;
    strake::Box interior;
    std::vector<strake::Box> exterior;
    std::unique_ptr<DeviceJacobi> jacobi;
  };
  void capture(Kind kind) {
    graphs_[kind] = std::make_unique<Graph>(streams_.front(), [&] {
      fork();
      for (int i = 0; i < 2; ++i) step(kind);
      join();
    });
  }
  void step(Kind kind) {
    kind == kWithExchanges ? step() : step_alone();
    swapped_ = !swapped_;
  }
  void step() {
    auto ghosts = grid_.exchange(streams_);
    relax_interiors();
    ghosts.wait(streams_);
    relax_exteriors();
    grid_.swap();
  }
  void step_alone() {
    relax_interiors();
    relax_exteriors();
    grid_.swap();
  }
  void relax_interiors() const {
    for (const Part& part : parts_)
      part.jacobi->relax(u_.view(part.subgrid), u_.next(part.subgrid), part.interior);
  }
  void relax_exteriors() const {
    for (const Part& part : parts_)
      part.jacobi->relax(u_.view(part.subgrid), u_.next(part.subgrid), part.exterior);
  }
  /// Later work of the other streams comes after the work in the first one.
  void fork() {
    if (streams_.size() > 1) streams_.front().record(joins_.front());
    for (std::size_t i = 1; i < streams_.size(); ++i) streams_[i].wait(joins_.front());
  }
  /// Later work of the first stream comes after the work in the others.
  void join() {
    for (std::size_t i = 1; i < streams_.size(); ++i) {
      streams_[i].record(joins_[i]);
      streams_.front().wait(joins_[i]);
    }
  }
  void synchronize() const {
    for (const strake::Stream& stream : streams_) stream.synchronize();
  }

  AnyGrid& grid_;
  AnyField& u_;
  std::vector<strake::Stream> streams_;  ///< by subgrid
  std::vector<strake::Event> joins_;     ///< by subgrid
  std::vector<Part> parts_;
  std::array<std::unique_ptr<Graph>, 2> graphs_;  ///< of two steps, by kind
  bool swapped_ = false;  ///< the current buffers are not those that graphs begin with
};

template <typename AnySteps>
Result solve(AnySteps& steps, std::int64_t count) {
  constexpr std::int64_t kTimedAlone = 50;
  // The first ones take longer.
  for (const auto kind : {AnySteps::kWithExchanges, AnySteps::kAlone}) steps.enqueue(4, kind);
  (void)steps.finish(0);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  steps.enqueue(kTimedAlone, AnySteps::kAlone);
  const double alone = steps.finish(begin) / kTimedAlone;

  steps.begin();
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
    report(result, done, steps.largest_change(), a_step, std::max(0.0, 1 - alone / a_step));
  }
  result.checksum = sum_of_ranks(steps.checksum());
  return result;
}

/// The cells of `region` in host memory, x fastest.
std::vector<double> cells_on_host(const strake::View<double>& u, strake::Place place,
                                  const strake::Box& region) {
  constexpr std::int64_t kSize = sizeof(double);
  std::vector<double> cells(static_cast<std::size_t>(region.size()));
  if (region.empty()) return cells;
  const strake::Dim dims[] = {{region.extent(2), u.stride(2) * kSize},
                              {region.extent(1), u.stride(1) * kSize}};
  const auto there = strake::Layout::box(0, region.extent(0) * kSize, dims);
  strake::CopyPlan::compile(strake::Layout::dense(there.size_bytes()), {}, there, place)
      .run(reinterpret_cast<std::byte*>(cells.data()),
           reinterpret_cast<const std::byte*>(
               &u(region.lower[0], region.lower[1], region.lower[2])));
  return cells;
}

/// As write_png(), of a field in devices' memory.
template <typename AnyField>
void write_png_of_devices(const std::string& path, const AnyField& u,
                          const std::vector<strake::Place>& places, const strake::Index3& extent) {
  std::vector<std::vector<double>> cells;
  std::vector<strake::View<double>> parts;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const strake::View<double> part = u.view(static_cast<int>(i));
    const strake::Box slice = middle_slice(part.owned(), extent);
    cells.push_back(cells_on_host(part, places[i], slice));
    const std::int64_t y = slice.extent(0), z = slice.extent(0) * slice.extent(1);
    double* const origin =
        cells.back().data() - (slice.lower[0] + slice.lower[1] * y + slice.lower[2] * z);
    parts.push_back({origin, y, z, slice, slice});
  }
  write_png(path, parts, extent);
}

Result run_baseline(const Options& options, const std::vector<strake::Place>& places) {
  DeviceMpiGrid grid(MPI_COMM_WORLD, options.extent);
  Steps steps(grid, grid, options.extent, places);
  Result result = solve(steps, options.steps);
  result.way = "baseline";
  if (!options.png.empty()) write_png_of_devices(options.png, grid, places, options.extent);
  return result;
}

Result run(const Options& options) {
  const std::vector<strake::Place> places = open_devices(options.gpus_a_rank);
  if (options.baseline) return run_baseline(options, places);
  strake::Grid grid(MPI_COMM_WORLD, options.extent,
                    {.radius = strake::Radius::faces(1),
                     .periodic = {true, true, true},
                     .counts = options.counts,
                     .places = places});
  auto u = grid.add<double>("temperature");
  grid.prepare();
  Steps steps(grid, u, options.extent, places);
  const bool graphs_work_well = each_has_its_own(places);
  try {
    if (options.graph.value_or(graphs_work_well)) steps.use_graphs();
  } catch (const strake::Unsupported&) {
    // Exchanges with other nodes need the CPU.
    if (options.graph) throw;
  }
  int all_have_graphs = steps.has_graphs() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all_have_graphs, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  Result result = solve(steps, options.steps);
  if (all_have_graphs != 0) result.way = "graph";
  if (options.plan && grid.rank() == 0) std::fputs(grid.plan().c_str(), stdout);
  if (!options.png.empty()) write_png_of_devices(options.png, u, places, options.extent);
  if (!options.vtk.empty()) grid.write_vtk(options.vtk);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr Program kProgram{
      .name = "jacobi3d_cuda",
      .baseline = true,
      .devices = true,
      .notes =
          "  --baseline            by plain MPI, from and to host memory, packed by kernels\n"
          "  --gpus-a-rank COUNT   each rank has so many devices, and a subgrid on each (1); then\n"
          "                        --cells-a-rank is of each subgrid\n"
          "  --graph, --no-graph   two steps are one CUDA graph, or their kernels and exchanges "
          "are\n"
          "                        enqueued in each step (graphs, where no two ranks share a\n"
          "                        device, on one node)\n"
          "Ranks of a node take devices in turn. The time of a step is that of all\n"
          "work between two lines, until the device has done it. Communication is by how much a\n"
          "step takes longer than its kernels alone, which are timed before the first step.\n"};
  return run_program(kProgram, argc, argv, run);
}
