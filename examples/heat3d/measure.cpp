#include "heat3d/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <vector>

#include "heat3d/world.hpp"

namespace {

/// A line on stderr that says how far the program is, if stderr is a terminal.
class Progress {
 public:
  Progress(const Problem& problem, Form form)
      : shown_(rank_of_world() == 0 && isatty(STDERR_FILENO) != 0),
        size_(problem.extent[0] / problem.counts[0]),
        form_(form),
        what_(problem.exchange_only ? "exchange" : "step") {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void show(std::int64_t done, std::int64_t steps) {
    const double now = shown_ ? MPI_Wtime() : 0;
    if (!shown_ || now < last_ + 0.1) return;
    last_ = now;
    std::fprintf(stderr, "\r\033[Ksize %" PRId64 ", %s: %s %" PRId64 " of %" PRId64, size_,
                 name_of(form_), what_, done, steps);
    std::fflush(stderr);
  }

 private:
  bool shown_;
  std::int64_t size_;
  Form form_;
  const char* what_;
  double last_ = 0;  ///< when it was shown
};

/// Calls `visit` with the times of each round, its steps, and the steps that are done.
void run_rounds(Solver& solver, std::int64_t steps,
                const std::function<void(const Times&, int, std::int64_t)>& visit) {
  for (std::int64_t done = 0; done < steps;) {
    const std::int64_t now = std::min<std::int64_t>(solver.costs().steps, steps - done);
    const Times times = solver.round(static_cast<int>(now));
    done += now;
    visit(times, static_cast<int>(now), done);
  }
}

/// The sums of `count` exchanges without steps.
Times run_exchanges(Solver& solver, std::int64_t count) {
  Times sum;
  for (std::int64_t i = 0; i < count; ++i) {
    const Times times = solver.round(0);
    sum.pack += times.pack;
    sum.wait += times.wait;
  }
  return sum;
}

/// How many steps take about a second, in multiples of `unit`. `spend(steps)` does so many, and
/// returns their time on this rank. Collective.
std::int64_t steps_of_a_second(int unit, const std::function<double(std::int64_t)>& spend) {
  constexpr double kEnough = 0.05, kWanted = 1;  // [s]
  for (std::int64_t steps = unit;; steps *= 2) {
    const double spent = max_of_ranks(spend(steps));
    if (spent < kEnough) continue;
    const auto units =
        static_cast<std::int64_t>(kWanted / spent * static_cast<double>(steps) / unit);
    return std::max<std::int64_t>(units, 1) * unit;
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
  void add(const Times& times, std::int64_t steps) {
    if (!parts_[0].empty() && steps < steps_) return;
    steps_ = steps;
    const std::array<double, 4> spent{times.compute, times.pack, times.wait, times.total()};
    for (std::size_t part = 0; part < spent.size(); ++part)
      parts_[part].push_back(spent[part] / static_cast<double>(steps));
  }
  /// Sets the times of a result to the maximum of all ranks. Collective.
  void put_slowest(Result& result) const {
    result.times.compute = max_of_ranks(median(parts_[0]));
    result.times.pack = max_of_ranks(median(parts_[1]));
    result.times.wait = max_of_ranks(median(parts_[2]));
    result.total = max_of_ranks(median(parts_[3]));
  }

 private:
  std::array<std::vector<double>, 4> parts_;
  std::int64_t steps_ = 0;
};

Result result_of(const Problem& problem, const Solver& solver, Form form, std::int64_t steps) {
  Result made;
  made.form = form;
  made.exchange_only = problem.exchange_only;
  made.size = problem.extent[0] / problem.counts[0];
  made.steps = steps;
  made.costs = solver.costs();
  return made;
}

}  // namespace

Result measure_steps(const Problem& problem, Solver& solver, const Options& options, Form form,
                     std::int64_t& steps) {
  if (steps == 0) {
    solver.begin();
    steps = steps_of_a_second(problem.steps_per_exchange(), [&](std::int64_t count) {
      double spent = 0;
      run_rounds(solver, count,
                 [&](const Times& times, int, std::int64_t) { spent += times.total(); });
      return spent;
    });
  }
  Progress progress(problem, form);
  Rounds rounds;
  solver.begin();
  run_rounds(solver, options.warm, [](const Times&, int, std::int64_t) {});
  MPI_Barrier(MPI_COMM_WORLD);
  run_rounds(solver, steps, [&](const Times& times, int count, std::int64_t done) {
    rounds.add(times, count);
    progress.show(done, steps);
  });
  Result result = result_of(problem, solver, form, steps);
  rounds.put_slowest(result);
  result.checksum = checksum_of(problem.comm, solver.owned(), solver.cells(solver.owned()));
  return result;
}

Result measure_exchanges(const Problem& problem, Solver& solver, const Options& options,
                         Form form) {
  constexpr std::int64_t kBlocks = 25;  // enough for a median that a few slow ones don't move
  solver.begin();
  run_exchanges(solver, options.warm);
  std::int64_t exchanges = options.steps;
  if (exchanges == 0)
    exchanges = steps_of_a_second(
        1, [&](std::int64_t count) { return run_exchanges(solver, count).total(); });
  const std::int64_t per_block = std::max<std::int64_t>(1, exchanges / kBlocks);
  Progress progress(problem, form);
  Rounds blocks;
  MPI_Barrier(MPI_COMM_WORLD);
  for (std::int64_t done = 0; done < exchanges;) {
    const std::int64_t now = std::min(per_block, exchanges - done);
    blocks.add(run_exchanges(solver, now), now);
    done += now;
    progress.show(done, exchanges);
  }
  Result result = result_of(problem, solver, form, exchanges);
  blocks.put_slowest(result);
  if (!has_values(form)) return result;
  const strake::Box seen = grown(solver.owned(), problem.ghost);
  result.checksum = checksum_of(problem.comm, seen, solver.cells(seen));
  return result;
}
