// Heat in a periodic box between a hot and a cold sphere, by Jacobi's method on a strake::Grid: the
// ghost cells are on their way while the interior is computed. With --baseline the same by plain
// MPI; all bits of the answer are the same. Source: dissertation 5 (its Jacobi application).
#include "jacobi3d.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>

#include "jacobi3d_mpi.hpp"
#include "jacobi3d_program.hpp"
#include "strake/grid.hpp"

namespace {

/// Where this rank's time goes. [s]
class Watch {
 public:
  enum Part : std::size_t { kCommunication, kComputation };
  /// The time since the last call was spent on `part`.
  void lap(Part part) {
    const double now = MPI_Wtime();
    spent_[part] += now - last_;
    last_ = now;
  }
  void skip() { last_ = MPI_Wtime(); }
  [[nodiscard]] const std::array<double, 2>& spent() const { return spent_; }

 private:
  std::array<double, 2> spent_{};
  double last_ = MPI_Wtime();
};

/// One step. `grid` and `u` are a strake::Grid and its field, or an MpiGrid, which is both.
template <typename AnyGrid, typename AnyField>
void step(AnyGrid& grid, AnyField& u, const Jacobi& jacobi, Watch& watch) {
  auto ghosts = grid.exchange();
  watch.lap(Watch::kCommunication);
  jacobi.relax(u.view(), u.next(), grid.interior());
  watch.lap(Watch::kComputation);
  ghosts.wait();
  watch.lap(Watch::kCommunication);
  for (const strake::Box& box : grid.exterior()) jacobi.relax(u.view(), u.next(), box);
  grid.swap();
  watch.lap(Watch::kComputation);
}

template <typename AnyGrid, typename AnyField>
Result solve(AnyGrid& grid, AnyField& u, const Jacobi& jacobi, std::int64_t steps) {
  Result result;
  jacobi.begin(u.view());
  MPI_Barrier(MPI_COMM_WORLD);
  Watch watch;
  for (std::int64_t done = 1; done <= steps; ++done) {
    step(grid, u, jacobi, watch);
    if (done % kStepsPerLine != 0 && done != steps) continue;
    const auto [communication, computation] = watch.spent();
    const double spent = communication + computation;
    report(result, done, Jacobi::largest_change(u.view(), u.next()),
           spent / static_cast<double>(done), communication / spent);
    watch.skip();
  }
  result.checksum = sum_of_ranks(jacobi.checksum(u.view()));
  return result;
}

Result run(const Options& options) {
  const Jacobi jacobi(options.extent);
  if (options.baseline) {
    MpiGrid grid(MPI_COMM_WORLD, options.extent);
    Result result = solve(grid, grid, jacobi, options.steps);
    result.way = "baseline";
    if (!options.png.empty()) write_png(options.png, {grid.view()}, options.extent);
    return result;
  }
  strake::Grid grid(MPI_COMM_WORLD, options.extent,
                    {.radius = strake::Radius::faces(1),
                     .periodic = {true, true, true},
                     .counts = options.counts});
  auto u = grid.add<double>("temperature");
  const Result result = solve(grid, u, jacobi, options.steps);
  if (options.plan && grid.rank() == 0) std::fputs(grid.plan().c_str(), stdout);
  if (!options.png.empty()) write_png(options.png, {u.view()}, options.extent);
  if (!options.vtk.empty()) grid.write_vtk(options.vtk);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr Program kProgram{
      .name = "jacobi3d",
      .baseline = true,
      .notes =
          "  --baseline            by plain MPI, without Strake\n"
          "Communication is the time spent in beginning exchanges and waiting for them.\n"};
  return run_program(kProgram, argc, argv, run);
}
