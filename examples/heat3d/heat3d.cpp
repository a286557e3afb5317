// Heat in a periodic grid, as a benchmark: bricks against arrays, with ghost cells that are enough
// for several steps. Time is split into computation, packing and waiting, and all forms must come
// to the same end. Source: Zhao et al. (2021), "Improving communication by optimizing on-node data
// movement with data layout", PPoPP, section 7.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "heat3d/options.hpp"
#include "heat3d/plot.hpp"
#include "heat3d/problem.hpp"
#include "heat3d/solver.hpp"
#include "strake/error.hpp"

namespace {

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int ranks_of_world() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

double max_of_ranks(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

/// A line on stderr that says how far the program is, if stderr is a terminal.
class Progress {
 public:
  Progress() : shown_(rank_of_world() == 0 && isatty(STDERR_FILENO) != 0) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }
  void show(std::int64_t size, Form form, std::int64_t done, std::int64_t steps) {
    const double now = shown_ ? MPI_Wtime() : 0;
    if (!shown_ || now < last_ + 0.1) return;
    last_ = now;
    std::fprintf(stderr, "\r\033[Ksize %" PRId64 ", %s: step %" PRId64 " of %" PRId64, size,
                 name_of(form), done, steps);
    std::fflush(stderr);
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool shown_;
  double last_ = 0;  ///< when it was shown
};

std::unique_ptr<Solver> solver_of(const Problem& problem, Form form) {
  return is_of_bricks(form) ? solver_of_bricks(problem, form) : solver_of_arrays(problem, form);
}

/// Calls `visit` with the times of each round, its steps, and the steps that are done.
void run(Solver& solver, std::int64_t steps,
         const std::function<void(const Times&, int, std::int64_t)>& visit) {
  for (std::int64_t done = 0; done < steps;) {
    const std::int64_t now = std::min<std::int64_t>(solver.costs().steps, steps - done);
    const Times times = solver.round(static_cast<int>(now));
    done += now;
    visit(times, static_cast<int>(now), done);
  }
}

/// How many steps take about a second, in whole exchanges of `per_exchange` steps. Collective.
std::int64_t steps_of_a_second(Solver& solver, int per_exchange) {
  constexpr double kEnough = 0.05, kWanted = 1;  // [s]
  solver.begin();
  for (std::int64_t steps = per_exchange;; steps *= 2) {
    double spent = 0;
    run(solver, steps, [&](const Times& times, int, std::int64_t) { spent += times.total(); });
    spent = max_of_ranks(spent);
    if (spent < kEnough) continue;
    const auto exchanges =
        static_cast<std::int64_t>(kWanted / spent * static_cast<double>(steps) / per_exchange);
    return std::max<std::int64_t>(exchanges, 1) * per_exchange;
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The medians of one rank's rounds, per step. A shorter round at the end counts only if there is
/// no other.
class Rounds {
 public:
  void add(const Times& times, int steps) {
    if (!parts_[0].empty() && steps < steps_) return;
    steps_ = steps;
    const std::array<double, 4> spent{times.compute, times.pack, times.wait, times.total()};
    for (std::size_t part = 0; part < spent.size(); ++part)
      parts_[part].push_back(spent[part] / steps);
  }
  /// The maximum of all ranks: compute, pack, wait, total. Collective.
  [[nodiscard]] std::array<double, 4> slowest() const {
    std::array<double, 4> made{};
    for (std::size_t part = 0; part < made.size(); ++part)
      made[part] = max_of_ranks(median(parts_[part]));
    return made;
  }

 private:
  std::array<std::vector<double>, 4> parts_;
  int steps_ = 0;
};

Result measure(Solver& solver, const Options& options, Form form, std::int64_t size,
               std::int64_t steps) {
  Progress progress;
  Rounds rounds;
  solver.begin();
  run(solver, options.warm, [](const Times&, int, std::int64_t) {});
  MPI_Barrier(MPI_COMM_WORLD);
  run(solver, steps, [&](const Times& times, int count, std::int64_t done) {
    rounds.add(times, count);
    progress.show(size, form, done, steps);
  });
  const auto [compute, pack, wait, total] = rounds.slowest();
  return {.form = form,
          .size = size,
          .steps = steps,
          .costs = solver.costs(),
          .times = {compute, pack, wait},
          .total = total,
          .checksum = checksum_of(MPI_COMM_WORLD, solver.owned(), solver.cells())};
}

void print_heading(const Options& options, std::int64_t size, std::int64_t steps) {
  std::printf("%d rank%s of %" PRId64 "^3 cells, %d-point stencil, %" PRId64
              " steps; times: us a step\n%-7s %5s %5s %10s %10s %10s %10s %8s %10s  %s\n",
              ranks_of_world(), ranks_of_world() == 1 ? "" : "s", size, options.points, steps,
              "form", "ghost", "steps", "compute", "pack", "wait", "total", "messages", "bytes",
              "checksum");
}

void print(const Result& result) {
  const auto& [form, size, steps, costs, times, total, checksum] = result;
  std::printf("%-7s %5d %5d %10.2f %10.2f %10.2f %10.2f %8d %10" PRId64 "  %.12e\n", name_of(form),
              costs.ghost, costs.steps, times.compute * 1e6, times.pack * 1e6, times.wait * 1e6,
              total * 1e6, costs.messages, costs.bytes, checksum);
  std::fflush(stdout);
}

/// Whether two forms came to the same end; says on rank 0 if they did not.
bool agree(const Result& first, const Result& other) {
  constexpr double kTolerance = 1e-9;  // sums of up to 10^12 cells, in different orders
  const double difference = std::abs(first.checksum - other.checksum);
  if (difference <= kTolerance * std::abs(first.checksum)) return true;
  if (rank_of_world() == 0)
    std::fprintf(stderr,
                 "heat3d: size %" PRId64
                 ": the forms %s and %s differ: their checksums are %.15e "
                 "and %.15e\n",
                 first.size, name_of(first.form), name_of(other.form), first.checksum,
                 other.checksum);
  return false;
}

/// All forms of one size, by turns. \returns  whether they agree
bool run_size(const Options& options, std::int64_t size, std::vector<Result>& results) {
  const std::unique_ptr<HeatStencil> stencil = stencil_of(options.points);
  Problem problem = problem_of(MPI_COMM_WORLD, size);
  problem.ghost = options.ghost;
  problem.every_step = options.every_step;
  problem.stencil = stencil.get();
  std::int64_t steps = options.steps;
  bool right = true;
  const std::size_t first = results.size();
  for (const Form form : options.forms) {
    const std::unique_ptr<Solver> solver = solver_of(problem, form);
    if (steps == 0) steps = steps_of_a_second(*solver, problem.steps_per_exchange());
    results.push_back(measure(*solver, options, form, size, steps));
    if (rank_of_world() == 0) {
      if (results.size() == first + 1) print_heading(options, size, steps);
      print(results.back());
    }
    right = agree(results[first], results.back()) && right;
    if (options.picture.empty() || size != options.sizes.back() || form != options.forms.back())
      continue;
    const Slice slice = slice_of(MPI_COMM_WORLD, problem.extent, *solver);
    if (rank_of_world() == 0 && !write_picture(options.picture, slice))
      throw std::runtime_error("can't write '" + options.picture + "'");
  }
  return right;
}

/// \returns  the status of the program
int run_all(const Options& options) {
  std::vector<Result> results;
  bool right = true;
  for (const std::int64_t size : options.sizes) right = run_size(options, size, results) && right;
  if (rank_of_world() == 0 && !options.svg.empty()) {
    const std::string title = "heat3d: " + std::to_string(ranks_of_world()) + " ranks, " +
                              std::to_string(options.points) + "-point stencil";
    if (!write_bars(options.svg, results, title))
      throw std::runtime_error("can't write '" + options.svg + "'");
  }
  return right ? 0 : 1;
}

/// Finds files that can't be written before the work is done. Collective.
/// \throws std::invalid_argument  on all ranks
void check_files(const Options& options) {
  for (const auto& [name, path] :
       {std::pair("--svg", options.svg), {"--picture", options.picture}}) {
    int fits = 1;
    if (rank_of_world() == 0 && !path.empty()) fits = std::ofstream(path, std::ios::app) ? 1 : 0;
    MPI_Bcast(&fits, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (fits == 0) throw std::invalid_argument(std::string(name) + ": can't write '" + path + "'");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_of_world();
  int status = 0;
  // Arguments are wrong on all ranks alike. Other faults may be one rank's: the job ends.
  const auto refuse = [&](const std::exception& error) {
    if (rank == 0) std::fprintf(stderr, "heat3d: %s\n%s", error.what(), usage().c_str());
    status = 2;
  };
  try {
    if (const std::optional<Options> options = parse(argc, argv)) {
      check_files(*options);
      status = run_all(*options);
    } else if (rank == 0) {
      std::fputs(help().c_str(), stdout);
    }
  } catch (const std::invalid_argument& error) {
    refuse(error);
  } catch (const strake::InvalidArgument& error) {
    refuse(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heat3d: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
