// Ghost exchange of a periodic cube of doubles with all 26 neighbours: by strake::Grid, by one
// subarray message a direction and quantity, and by hand-written packing. Every cell is checked
// before and after the timing.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "grid/contenders.hpp"
#include "mpi/environment.hpp"
#include "mpi/paired_sampling.hpp"
#include "strake/error.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/turns.hpp"

namespace {

using namespace bench;

std::string name_of(const HaloShape& shape) {
  return std::to_string(shape.edge) + "^3_r" + std::to_string(shape.radius) + "_q" +
         std::to_string(shape.quantities);
}

/// What is asked for on the command line: named cases, or all combinations of numbers.
struct Wanted {
  std::vector<std::string> cases, edges, quantities, radii;
};

[[noreturn]] void refuse(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(2);
}

std::vector<int> numbers(const char* option, const std::vector<std::string>& texts) {
  std::vector<int> all;
  for (const std::string& text : texts) {
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || number < 1 || number > 4096)
      refuse(std::string(option) + " takes a number from 1 to 4096, not '" + text + "'");
    all.push_back(static_cast<int>(number));
  }
  return all.empty() ? std::vector<int>{1} : all;
}

std::vector<HaloShape> shapes_of(const Wanted& wanted, bool quick) {
  // RAJAPerf's HALO_EXCHANGE by default; three quantities of a wide stencil, on the block of
  // GHEX's benchmarks.
  constexpr HaloShape kRajaperf{100, 1, 3};
  constexpr HaloShape kGhex{128, 3, 3};
  std::vector<HaloShape> shapes;
  for (const std::string& text : wanted.cases) {
    if (text != "rajaperf" && text != "ghex")
      refuse("--case takes rajaperf or ghex, not '" + text + "'");
    shapes.push_back(text == "ghex" ? kGhex : kRajaperf);
  }
  const bool combine = !wanted.edges.empty() || !wanted.quantities.empty() || !wanted.radii.empty();
  if (combine) {
    const std::vector<int> edges =
        wanted.edges.empty() ? std::vector<int>{64} : numbers("--n", wanted.edges);
    for (const int edge : edges)
      for (const int radius : numbers("--radius", wanted.radii))
        for (const int quantities : numbers("--quantities", wanted.quantities)) {
          if (radius > edge)
            refuse("--radius " + std::to_string(radius) + " is longer than the --n " +
                   std::to_string(edge) + " cells of a rank");
          shapes.push_back({edge, radius, quantities});
        }
  }
  if (!shapes.empty()) return shapes;
  return quick ? std::vector<HaloShape>{{8, 2, 2}} : std::vector<HaloShape>{kRajaperf, kGhex};
}

// Fills all cells anew and exchanges once: cells that are wrong on all ranks together.
std::int64_t wrong_cells(Contender& contender, int epoch) {
  contender.fill(epoch);
  contender.exchange();
  std::int64_t wrong = contender.wrong_cells(epoch);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return wrong;
}

// Seconds a call, by contender, some samples of each by turns; each sample is the slowest rank's.
std::vector<std::vector<double>> sample_all(
    const Budget& budget, const std::vector<std::unique_ptr<Contender>>& contenders) {
  constexpr int kTurns = 10;
  Turns::instance().next();
  std::vector<Plan> plans;
  for (const auto& contender : contenders)
    plans.push_back(plan_together(budget, [&] { contender->exchange(); }));
  std::vector<std::vector<double>> seconds(contenders.size());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      // Another one is first in each turn.
      const std::size_t which = (i + static_cast<std::size_t>(turn)) % contenders.size();
      Contender& contender = *contenders[which];
      const int samples = plans[which].samples;
      const Plan part{plans[which].calls, samples * (turn + 1) / kTurns - samples * turn / kTurns};
      MPI_Barrier(MPI_COMM_WORLD);
      contender.exchange();  // does not count: another one's arrays are in the caches
      const std::vector<double> taken = take_samples(part, [&] { contender.exchange(); });
      seconds[which].insert(seconds[which].end(), taken.begin(), taken.end());
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i)
    for (double& sample : seconds[i]) sample /= contenders[i]->exchanges();
  for (std::vector<double>& samples : seconds)
    MPI_Allreduce(MPI_IN_PLACE, samples.data(), static_cast<int>(samples.size()), MPI_DOUBLE,
                  MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

// Whether all cells were right; prints the lines if so.
bool measure(const HaloShape& shape, const RankBox& box, const Budget& budget, bool speaks,
             const Report& report) {
  const auto all = contenders(box, shape);
  const auto all_right = [&](int epoch) {
    bool right = true;
    for (const auto& contender : all) {
      const std::int64_t wrong = wrong_cells(*contender, epoch);
      right &= wrong == 0;
      if (speaks && wrong != 0)
        std::fprintf(stderr, "%s, %s: %lld wrong cells\n", name_of(shape).c_str(),
                     contender->name(), static_cast<long long>(wrong));
    }
    return right;
  };
  if (!all_right(0)) return false;
  const auto seconds = sample_all(budget, all);
  if (!all_right(1)) return false;
  const std::int64_t bytes = Halo(box, {shape.edge, shape.radius, shape.quantities}).bytes_sent();
  for (std::size_t i = 0; speaks && i < all.size(); ++i) {
    report.line(name_of(shape) + "_" + all[i]->name(), summarize(to_microseconds(seconds[i])),
                "-us", {{"op", "exchange"}, {"way", all[i]->name()}, {"bytes_per_rank", bytes}});
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  const bench::Options options = bench::parse_options(
      argc, argv, "Ghost exchange of a Grid, and of two ways of plain MPI, on any number of ranks",
      {{"--n", "Cells a side of a rank's cube (64), several times if need be", &wanted.edges},
       {"--quantities", "Arrays (1), several times if need be", &wanted.quantities},
       {"--radius", "Ghost cells on each side (1), several times if need be", &wanted.radii},
       {"--case", "rajaperf: 100^3 a rank, 3 quantities, radius 1. ghex: 128^3, 3, 3",
        &wanted.cases}});
  const std::vector<HaloShape> shapes = shapes_of(wanted, options.quick);
  const bench::Environment mpi(&argc, &argv);
  const bench::Report report("halo", mpi.ranks(), mpi.library());
  const RankBox box(mpi.rank(), mpi.ranks());
  bool right = true;
  try {
    for (const HaloShape& shape : shapes) {
      if (options.list && mpi.rank() == 0) std::puts(name_of(shape).c_str());
      if (options.list || !options.selects(name_of(shape))) continue;
      right &= measure(shape, box, options.budget, mpi.rank() == 0, report);
    }
  } catch (const strake::InvalidArgument& error) {  // of all ranks alike
    if (mpi.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return right ? 0 : 1;
}
