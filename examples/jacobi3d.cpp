// Heat in a periodic box between a hot and a cold sphere, by Jacobi's method on a strake::Grid: the
// ghost cells are on their way while the interior is computed. With --baseline the same by plain
// MPI; all bits of the answer are the same. Source: dissertation 5 (its Jacobi application).
#include "jacobi3d.hpp"

#include <mpi.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "jacobi3d_mpi.hpp"
#include "png.hpp"
#include "strake/error.hpp"
#include "strake/grid.hpp"

namespace {

constexpr const char* kUsage =
    "usage: jacobi3d [--n CELLS | --nx CELLS --ny CELLS --nz CELLS] [--steps COUNT]\n"
    "                [--png PATH] [--vtk PATH] [--plan] [--baseline] [--csv]\n";

struct Options {
  strake::Index3 extent{64, 64, 64};
  std::int64_t steps = 200;
  std::string vtk;
  std::string png;
  bool plan = false;
  bool baseline = false;
  bool csv = false;
};

std::int64_t parse_number(const std::string& name, const std::string& text, std::int64_t most) {
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < 1 || number > most)
    throw std::invalid_argument(name + " takes a number from 1 to " + std::to_string(most) +
                                ", not '" + text + "'");
  return number;
}

/// \throws std::invalid_argument
Options parse(int argc, char** argv) {
  constexpr std::int64_t kMostCells = 1 << 14, kMostSteps = 1000000000;
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(name + " takes a value");
      return argv[++i];
    };
    if (name == "--n") {
      options.extent.fill(parse_number(name, value(), kMostCells));
    } else if (name == "--nx" || name == "--ny" || name == "--nz") {
      options.extent[static_cast<std::size_t>(name[3] - 'x')] =
          parse_number(name, value(), kMostCells);
    } else if (name == "--steps") {
      options.steps = parse_number(name, value(), kMostSteps);
    } else if (name == "--vtk") {
      options.vtk = value();
    } else if (name == "--png") {
      options.png = value();
    } else if (name == "--plan") {
      options.plan = true;
    } else if (name == "--baseline") {
      options.baseline = true;
    } else if (name == "--csv") {
      options.csv = true;
    } else {
      throw std::invalid_argument("unknown option '" + name + "'");
    }
  }
  if (options.baseline && (options.plan || !options.vtk.empty()))
    throw std::invalid_argument("--plan and --vtk are of the Grid: --baseline has none");
  return options;
}

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

/// One step. `grid` and `u` are a strake::Grid and its quantity, or an MpiGrid, which is both.
template <typename AnyGrid, typename AnyField>
void step(AnyGrid& grid, AnyField& u, const Jacobi& jacobi, Watch& watch) {
  auto ghosts = grid.exchange();
  watch.lap(Watch::kCommunication);
  jacobi.relax(u.view(), u.next(), grid.interior());
  watch.lap(Watch::kComputation);
  ghosts.wait();
  watch.lap(Watch::kCommunication);
  for (const strake::Region& box : grid.exterior()) jacobi.relax(u.view(), u.next(), box);
  grid.swap();
  watch.lap(Watch::kComputation);
}

/// Of all ranks.
struct Result {
  double residual = 0;       ///< the largest change of a cell in the last step
  double seconds = 0;        ///< a step takes, the slowest rank's
  double communication = 0;  ///< the share of that, the mean
  std::uint64_t checksum = 0;
};

template <typename AnyGrid, typename AnyField>
Result solve(AnyGrid& grid, AnyField& u, const Jacobi& jacobi, std::int64_t steps, bool speaks) {
  constexpr int kStepsPerLine = 50;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Result result;
  jacobi.begin(u.view());
  MPI_Barrier(MPI_COMM_WORLD);
  Watch watch;
  for (std::int64_t done = 1; done <= steps; ++done) {
    step(grid, u, jacobi, watch);
    if (done % kStepsPerLine != 0 && done != steps) continue;
    const auto [communication, computation] = watch.spent();
    std::array<double, 2> largest{Jacobi::largest_change(u.view(), u.next()),
                                  (communication + computation) / static_cast<double>(done)};
    double share = communication / (communication + computation) / ranks;
    MPI_Allreduce(MPI_IN_PLACE, largest.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    result.residual = largest[0];
    result.seconds = largest[1];
    result.communication = share;
    if (speaks)
      std::printf("step %6" PRId64 "  residual %.3e  %9.3f ms a step, %4.1f %% communication\n",
                  done, result.residual, result.seconds * 1e3, share * 100);
    watch.skip();
  }
  result.checksum = jacobi.checksum(u.view());
  MPI_Allreduce(MPI_IN_PLACE, &result.checksum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return result;
}

/// The middle slice, gathered on rank 0. \throws std::runtime_error  it can't be written
void write_png(const std::string& path, const strake::View<double>& u,
               const strake::Index3& extent) {
  const auto width = static_cast<std::size_t>(extent[0]);
  std::vector<double> slice(width * static_cast<std::size_t>(extent[1]));
  strake::Region mine = u.owned();
  mine.lower[2] = std::max(mine.lower[2], extent[2] / 2);
  mine.upper[2] = std::min(mine.upper[2], extent[2] / 2 + 1);
  for_each_cell(mine, [&](auto i, auto j, auto k) {
    slice[static_cast<std::size_t>(j * extent[0] + i)] = u(i, j, k);
  });
  // Each cell is zero on all ranks but one.
  std::vector<double> whole(slice.size());
  MPI_Reduce(slice.data(), whole.data(), static_cast<int>(slice.size()), MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  std::vector<png::Colour> pixels;
  for (const double value : whole) pixels.push_back(png::blue_white_red(value));
  if (!png::write(path, pixels, width)) throw std::runtime_error("can't write '" + path + "'");
}

Result run(const Options& options, bool speaks) {
  const Jacobi jacobi(options.extent);
  if (options.baseline) {
    MpiGrid grid(MPI_COMM_WORLD, options.extent);
    const Result result = solve(grid, grid, jacobi, options.steps, speaks);
    if (!options.png.empty()) write_png(options.png, grid.view(), options.extent);
    return result;
  }
  strake::Grid grid(MPI_COMM_WORLD, options.extent,
                    {.radius = strake::Radius::faces(1), .periodic = {true, true, true}});
  auto u = grid.add<double>("temperature");
  const Result result = solve(grid, u, jacobi, options.steps, speaks);
  if (options.plan && speaks) std::fputs(grid.plan().c_str(), stdout);
  if (!options.png.empty()) write_png(options.png, u.view(), options.extent);
  if (!options.vtk.empty()) grid.write_vtk(options.vtk);
  return result;
}

void print(const Options& options, const Result& result) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const form =
      options.csv
          ? "program,way,ranks,nx,ny,nz,steps,residual,us_per_step,communication,checksum\n"
            "jacobi3d,%s,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
            ",%.6e,%.3f,%.4f,%016" PRIX64 "\n"
          : "{\"program\": \"jacobi3d\", \"way\": \"%s\", \"ranks\": %d, \"extent\": [%" PRId64
            ", %" PRId64 ", %" PRId64 "], \"steps\": %" PRId64
            ", \"residual\": %.6e, \"us_per_step\": %.3f, \"communication\": %.4f, "
            "\"checksum\": \"%016" PRIX64 "\"}\n";
  std::printf(form, options.baseline ? "baseline" : "grid", ranks, options.extent[0],
              options.extent[1], options.extent[2], options.steps, result.residual,
              result.seconds * 1e6, result.communication, result.checksum);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = 0;
  // Arguments are wrong on all ranks alike. Other faults may be one rank's: the job ends.
  const auto refuse = [&](const std::exception& error) {
    if (rank == 0) std::fprintf(stderr, "jacobi3d: %s\n%s", error.what(), kUsage);
    status = 2;
  };
  try {
    const Options options = parse(argc, argv);
    const Result result = run(options, rank == 0);
    if (rank == 0) print(options, result);
  } catch (const std::invalid_argument& error) {
    refuse(error);
  } catch (const strake::InvalidArgument& error) {
    refuse(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "jacobi3d: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
