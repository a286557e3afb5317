#include "grid/device_grid.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grid/device.hpp"
#include "grid/not_fused.hpp"
#include "mpi/numbers.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"
#include "support/sampling.hpp"

namespace bench {
namespace {

bool is_graph(Pace pace) {
  return pace == Pace::Graph || pace == Pace::GraphOfTen || pace == Pace::GraphNotFused;
}
bool is_fused(Pace pace) { return pace != Pace::EnqueueNotFused && pace != Pace::GraphNotFused; }

/// A graph of the work that a function enqueues in a stream.
class Graph {
 public:
  Graph(strake::Stream& stream, const std::function<void()>& enqueue) {
    check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal));
    cudaGraph_t made = nullptr;
    try {
      enqueue();
    } catch (...) {
      (void)cudaStreamEndCapture(stream.native(), &made);
      if (made != nullptr) (void)cudaGraphDestroy(made);
      (void)cudaGetLastError();
      throw;
    }
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

class DeviceGridContender final : public Contender {
 public:
  DeviceGridContender(const RankBox& box, const HaloShape& shape, Pace pace)
      : pace_(pace),
        places_(use_places(shape.gpus)),
        // The blocks of a rank that has several are one above the other, along z.
        grid_(MPI_COMM_WORLD, along_z(BlockCells(box, shape).extent(), shape.gpus),
              {.radius = shape.radius,
               .periodic = {true, true, true},
               .counts = along_z(box.counts(), shape.gpus),
               .places = places_}) {
    for (int q = 0; q < shape.quantities; ++q)
      fields_.push_back(grid_.add<double>("q" + std::to_string(q), {.next = false}));
    if (is_fused(pace)) {
      grid_.prepare();
    } else {
      not_fused_.emplace(fields_, box, shape, places_.front());
    }
  }
  /// \throws strake::Unsupported  this rank's exchange can't be part of a graph
  void capture() {
    graph_.emplace(stream_, [this] { enqueue(); });
  }
  [[nodiscard]] int exchanges() const override {
    return pace_ == Pace::EnqueueTen || pace_ == Pace::GraphOfTen ? 10 : 1;
  }
  void exchange() override {
    if (pace_ == Pace::Wait) return grid_.exchange().wait();
    const Stopwatch watch;
    if (graph_) {
      graph_->launch(stream_);
    } else {
      enqueue();
    }
    calls_seconds_ += watch.seconds();
    enqueued_ += exchanges();
    check(cudaStreamSynchronize(stream_.native()));
  }
  [[nodiscard]] double host_us() const override {
    return enqueued_ == 0 ? -1 : calls_seconds_ * 1e6 / enqueued_;
  }
  [[nodiscard]] std::string plan() const override { return grid_.plan(); }
  void fill(int epoch) override {
    for_each_block([&](std::size_t q, const strake::View<double>& view, strake::Place place) {
      const std::vector<double> values = numbers(q, view, view.owned(), epoch);
      const auto there = bytes_of(view);
      strake::CopyPlan::compile(there.layout, place,
                                strake::Layout::dense(there.layout.size_bytes()), {})
          .run(there.base, reinterpret_cast<const std::byte*>(values.data()));
    });
  }
  [[nodiscard]] std::int64_t wrong_cells(int epoch) const override {
    std::int64_t wrong = 0;
    for_each_block([&](std::size_t q, const strake::View<double>& view, strake::Place place) {
      const auto there = bytes_of(view);
      std::vector<double> values(static_cast<std::size_t>(view.stored().size()));
      strake::CopyPlan::compile(strake::Layout::dense(there.layout.size_bytes()), {}, there.layout,
                                place)
          .run(reinterpret_cast<std::byte*>(values.data()), there.base);
      wrong += count_different(values, numbers(q, view, view.stored(), epoch));
    });
    return wrong;
  }

 private:
  void enqueue() {
    if (not_fused_) return not_fused_->enqueue(stream_);
    for (int i = 0; i < exchanges(); ++i) grid_.enqueue(stream_);
  }
  struct Bytes {
    strake::Layout layout;
    std::byte* base;
  };
  static Bytes bytes_of(const strake::View<double>& view) {
    const strake::Box& stored = view.stored();
    constexpr std::int64_t kSize = sizeof(double);
    const strake::Box from_zero{{}, {stored.extent(0), stored.extent(1), stored.extent(2)}};
    return {strake::layout_of(from_zero, {kSize, view.stride(1) * kSize, view.stride(2) * kSize}),
            reinterpret_cast<std::byte*>(&view(stored.lower[0], stored.lower[1], stored.lower[2]))};
  }
  [[nodiscard]] std::vector<double> numbers(std::size_t quantity, const strake::View<double>& view,
                                            const strake::Box& filled, int epoch) const {
    return grid_numbers(view.stored(), filled, grid_.extent(), quantity, fields_.size(), epoch);
  }
  template <typename Counts>
  static Counts along_z(Counts counts, int times) {
    counts[2] *= times;
    return counts;
  }
  static std::vector<strake::Place> use_places(int gpus) {
    const int first = use_device() * gpus % devices();
    std::vector<strake::Place> places;
    for (int i = 0; i < gpus; ++i)
      places.push_back({strake::MemoryKind::Device, (first + i) % devices()});
    return places;
  }
  template <typename Work>
  void for_each_block(const Work& work) const {
    for (std::size_t q = 0; q < fields_.size(); ++q)
      for (int i = 0; i < grid_.subgrids(); ++i)
        work(q, fields_[q].view(i), places_[static_cast<std::size_t>(i)]);
  }

  Pace pace_;
  std::vector<strake::Place> places_;
  strake::Grid grid_;
  strake::Stream stream_ = strake::Stream::make(places_.front().device);
  std::vector<strake::Field<double>> fields_;
  std::optional<NotFused> not_fused_;
  std::optional<Graph> graph_;
  double calls_seconds_ = 0;
  int enqueued_ = 0;
};

}  // namespace

std::unique_ptr<Contender> make_device_grid(const RankBox& box, const HaloShape& shape, Pace pace) {
  auto contender = std::make_unique<DeviceGridContender>(box, shape, pace);
  if (!is_graph(pace)) return contender;
  bool possible = true;
  try {
    contender->capture();
  } catch (const strake::Unsupported& error) {
    std::fprintf(stderr, "exchanges in a graph are left out: %s\n", error.what());
    possible = false;
  }
  if (!all_ranks(possible)) return nullptr;
  return contender;
}

}  // namespace bench
