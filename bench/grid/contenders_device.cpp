// A Grid in the memory of devices, which ranks share round robin.
#include <cuda_runtime_api.h>
#include <mpi.h>

#include <cstdlib>
#include <optional>

#include "grid/contenders.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"

namespace bench {
namespace {

int use_device() {
  int rank = 0;
  int devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    throw strake::InvalidArgument("there is no device");
  (void)cudaSetDevice(rank % devices);
  (void)cudaFree(nullptr);
  return rank % devices;
}

void check(cudaError_t code) {
  if (code != cudaSuccess) throw strake::CudaError(cudaGetErrorString(code), code);
}

strake::ExchangeOptions parts() {
  const char* const axes = std::getenv("BENCH_AXES");
  const std::string text = axes == nullptr ? "xyz" : axes;
  return {.axes = {text.find('x') != text.npos, text.find('y') != text.npos,
                   text.find('z') != text.npos}};
}
/// Exchanges in a stream, as a graph.
class Graph {
 public:
  Graph(strake::Grid& grid, strake::Stream& stream, int exchanges) {
    grid.prepare(parts());
    check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < exchanges; ++i) grid.enqueue(stream, parts());
    cudaGraph_t made = nullptr;
    check(cudaStreamEndCapture(stream.native(), &made));
    check(cudaGraphInstantiate(&graph_, made, 0));
    check(cudaGraphDestroy(made));
  }
  ~Graph() { (void)cudaGraphExecDestroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(strake::Stream& stream) { check(cudaGraphLaunch(graph_, stream.native())); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

/// How a program exchanges; it waits for the end each time.
enum class Pace { Wait, Enqueue, EnqueueTen, Graph, GraphOfTen };

class DeviceGridContender final : public Contender {
 public:
  DeviceGridContender(const RankBox& box, const HaloShape& shape, Pace pace)
      : pace_(pace),
        place_{strake::MemoryKind::Device, use_device()},
        grid_(MPI_COMM_WORLD,
              std::array<std::int64_t, 3>{box.dims()[2] * std::int64_t{shape.edge},
                                          box.dims()[1] * std::int64_t{shape.edge},
                                          box.dims()[0] * std::int64_t{shape.edge}},
              {.radius = shape.radius,
               .periodic = {true, true, true},
               .counts = {box.dims()[2], box.dims()[1], box.dims()[0]},
               .place = place_}) {
    for (int q = 0; q < shape.quantities; ++q)
      fields_.push_back(grid_.add<double>("q" + std::to_string(q), {.next = false}));
    if (pace == Pace::Graph || pace == Pace::GraphOfTen)
      graph_.emplace(grid_, stream_, exchanges());
  }
  [[nodiscard]] const char* name() const override {
    constexpr const char* kNames[] = {"grid on a device", "grid enqueued", "grid enqueued ten",
                                      "grid in a graph", "grid in a graph of ten"};
    return kNames[static_cast<int>(pace_)];
  }
  [[nodiscard]] int exchanges() const override {
    return pace_ == Pace::GraphOfTen || pace_ == Pace::EnqueueTen ? 10 : 1;
  }
  void exchange() override {
    if (pace_ == Pace::Wait) return grid_.exchange(parts()).wait();
    if (pace_ == Pace::EnqueueTen) {
      for (int i = 0; i < 10; ++i) grid_.enqueue(stream_, parts());
    } else if (pace_ == Pace::Enqueue) {
      grid_.enqueue(stream_, parts());
    } else {
      graph_->launch(stream_);
    }
    check(cudaStreamSynchronize(stream_.native()));
  }
  void fill(int epoch) override {
    for (std::size_t q = 0; q < fields_.size(); ++q) {
      const strake::Region owned = fields_[q].view().owned();
      std::size_t at = 0;
      std::vector<double> values(static_cast<std::size_t>(fields_[q].view().stored().size()));
      for_each_cell(fields_[q].view().stored(), [&](auto i, auto j, auto k) {
        values[at++] = owned.contains(i, j, k) ? number({i, j, k}, q, epoch) : -1;
      });
      const auto there = bytes_of(fields_[q].view());
      strake::CopyPlan::compile(there.layout, place_,
                                strake::Layout::dense(there.layout.size_bytes()), {})
          .run(there.base, reinterpret_cast<const std::byte*>(values.data()));
    }
  }
  [[nodiscard]] std::int64_t wrong_cells(int epoch) const override {
    std::int64_t wrong = 0;
    if (std::getenv("BENCH_AXES") != nullptr && std::string(std::getenv("BENCH_AXES")) != "xyz")
      return 0;
    for (std::size_t q = 0; q < fields_.size(); ++q) {
      const auto there = bytes_of(fields_[q].view());
      std::vector<double> values(static_cast<std::size_t>(fields_[q].view().stored().size()));
      strake::CopyPlan::compile(strake::Layout::dense(there.layout.size_bytes()), {}, there.layout,
                                place_)
          .run(reinterpret_cast<std::byte*>(values.data()), there.base);
      std::size_t at = 0;
      for_each_cell(fields_[q].view().stored(), [&](auto i, auto j, auto k) {
        wrong += values[at++] != number({i, j, k}, q, epoch);
      });
    }
    return wrong;
  }

 private:
  struct Bytes {
    strake::Layout layout;
    std::byte* base;
  };
  static Bytes bytes_of(const strake::View<double>& view) {
    const strake::Region& stored = view.stored();
    constexpr std::int64_t kSize = sizeof(double);
    const strake::Dim dims[] = {{stored.extent(2), view.stride(2) * kSize},
                                {stored.extent(1), view.stride(1) * kSize}};
    return {strake::Layout::box(0, stored.extent(0) * kSize, dims),
            reinterpret_cast<std::byte*>(&view(stored.lower[0], stored.lower[1], stored.lower[2]))};
  }
  [[nodiscard]] double number(const strake::Index3& cell, std::size_t quantity, int epoch) const {
    return grid_number(cell, grid_.extent(), quantity, fields_.size(), epoch);
  }

  Pace pace_;
  strake::Place place_;
  strake::Grid grid_;
  strake::Stream stream_ = strake::Stream::make(place_.device);
  std::optional<Graph> graph_;
  std::vector<strake::Field<double>> fields_;
};

}  // namespace

std::vector<std::unique_ptr<Contender>> contenders(const RankBox& box, const HaloShape& shape) {
  std::vector<std::unique_ptr<Contender>> all;
  for (const Pace pace :
       {Pace::Wait, Pace::Enqueue, Pace::EnqueueTen, Pace::Graph, Pace::GraphOfTen})
    all.push_back(std::make_unique<DeviceGridContender>(box, shape, pace));
  return all;
}

}  // namespace bench
