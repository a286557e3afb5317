// Plain MPI messages of contiguous buffers, as long as those of memmap to 26 neighbours. Nothing is
// packed and no cell is stored: the time is the least for so many messages of plain MPI.
#include "heat3d/neighbours.hpp"
#include "heat3d/solver.hpp"

namespace {

class BuffersSolver : public Solver {
 public:
  /// Bricks of 8^3 doubles fill a page of 4096 bytes: memmap pads nothing where pages are so small.
  explicit BuffersSolver(const Problem& problem)
      : around_(problem), depth_((problem.ghost + kBrickSide - 1) / kBrickSide * kBrickSide) {
    for (std::size_t peer = 0; peer < Neighbours::kCount; ++peer) {
      const strake::Direction d = strake::kDirections[peer];
      const strake::Box& own = around_.owned();
      sent_[peer].resize(static_cast<std::size_t>(strake::border(own, d, depth_).size()));
      came_[peer].resize(static_cast<std::size_t>(strake::ghosts(own, d, depth_).size()));
    }
  }

  void begin() override {}
  /// \param steps  0: there are no cells to compute
  Times round([[maybe_unused]] int steps) override {
    Times times;
    Watch watch;
    std::array<MPI_Request, 2 * Neighbours::kCount> requests;
    MPI_Request* request = requests.data();
    for (std::size_t peer = 0; peer < Neighbours::kCount; ++peer)
      MPI_Irecv(came_[peer].data(), static_cast<int>(came_[peer].size()), MPI_DOUBLE,
                around_.rank(peer), Neighbours::received_tag(peer), around_.comm(), request++);
    for (std::size_t peer = 0; peer < Neighbours::kCount; ++peer)
      MPI_Isend(sent_[peer].data(), static_cast<int>(sent_[peer].size()), MPI_DOUBLE,
                around_.rank(peer), Neighbours::sent_tag(peer), around_.comm(), request++);
    watch.lap(times.pack);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    watch.lap(times.wait);
    return times;
  }
  [[nodiscard]] Costs costs() const override {
    Costs made{depth_, 1, static_cast<int>(Neighbours::kCount), 0};
    for (const auto& buffer : sent_)
      made.bytes += std::ssize(buffer) * static_cast<std::int64_t>(sizeof(double));
    return made;
  }
  [[nodiscard]] strake::Box owned() const override { return around_.owned(); }
  [[nodiscard]] std::vector<double> cells(const strake::Box& /*box*/) override { return {}; }

 private:
  Neighbours around_;
  int depth_;
  std::array<std::vector<double>, Neighbours::kCount> sent_;
  std::array<std::vector<double>, Neighbours::kCount> came_;
};

}  // namespace

std::unique_ptr<Solver> solver_of_buffers(const Problem& problem) {
  return std::make_unique<BuffersSolver>(problem);
}
