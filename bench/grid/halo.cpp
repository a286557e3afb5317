// Ghost exchange of a periodic cube of doubles with all 26 neighbours: by strake::Grid, and in
// other ways. Every cell is checked before and after the timing.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "grid/bar.hpp"
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
         std::to_string(shape.quantities) +
         (shape.gpus > 1 ? "_g" + std::to_string(shape.gpus) : std::string());
}

/// The cases of the command line: named ones, or all combinations of numbers.
struct Wanted {
  std::vector<std::string> cases, edges, quantities, radii, ways, gpus, plans;
};

constexpr const char* kBar = "bar";

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
  // RAJAPerf's HALO_EXCHANGE by default; three fields of a wide stencil, on the block of GHEX's
  // benchmarks.
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
  if (shapes.empty() && quick) shapes = {{8, 2, 2}};
  if (shapes.empty()) shapes = {kRajaperf, kGhex};
  std::vector<HaloShape> all;
  const std::vector<int> gpus_a_rank = numbers("--gpus-a-rank", wanted.gpus);
  if (!has_bar() && std::ranges::max(gpus_a_rank) > 1)
    refuse("--gpus-a-rank is of the program that uses devices, bench_halo_device");
  for (const int gpus : gpus_a_rank) {
    for (HaloShape shape : shapes) {
      shape.gpus = gpus;
      all.push_back(shape);
    }
  }
  return all;
}

// All ways of this program; --way takes some of them.
std::vector<std::string> ways_of(const Wanted& wanted) {
  std::vector<std::string> all;
  for (const ContenderKind& kind : contender_kinds()) all.push_back(kind.name);
  if (has_bar()) all.emplace_back(kBar);
  if (wanted.ways.empty()) return all;
  std::string names;
  for (const std::string& name : all) names += "\n  " + name;
  for (const std::string& way : wanted.ways)
    if (std::ranges::find(all, way) == all.end())
      refuse("--way takes one of these, not '" + way + "':" + names);
  std::erase_if(all, [&](const std::string& name) {
    return std::ranges::find(wanted.ways, name) == wanted.ways.end();
  });
  return all;
}

struct Running {
  std::string name;
  std::unique_ptr<Contender> contender;
};

// Fills all cells anew and exchanges once: cells that are wrong on all ranks together.
std::int64_t wrong_cells(Contender& contender, int epoch) {
  contender.fill(epoch);
  contender.exchange();
  std::int64_t wrong = contender.wrong_cells(epoch);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return wrong;
}

// Seconds a call, by contender, some samples of each by turns; each sample is the slowest rank's.
std::vector<std::vector<double>> sample_all(const Budget& budget,
                                            const std::vector<Running>& contenders) {
  constexpr int kTurns = 10;
  Turns::instance().next();
  std::vector<Plan> plans;
  for (const Running& running : contenders)
    plans.push_back(plan_together(budget, [&] { running.contender->exchange(); }));
  auto seconds = sample_by_turns(plans, {.count = kTurns, .rotated = true},
                                 [&](std::size_t which, const Plan& part, std::vector<double>& to) {
                                   Contender& contender = *contenders[which].contender;
                                   take_together(
                                       part, [&] { contender.exchange(); }, to);
                                 });
  for (std::size_t i = 0; i < contenders.size(); ++i)
    seconds[i] = slowest_rank(scaled(seconds[i], 1.0 / contenders[i].contender->exchanges()));
  return seconds;
}

// For faults that other ranks may not know of: they would wait for this one for ever.
[[noreturn]] void give_up(const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

struct Job {
  const RankBox& box;
  const Options& options;
  const Report& report;
  bool speaks;
  const std::vector<std::string>& plans;  ///< of these ways
};

// The time of a round with a launch and a wait that a plan's text predicts by this machine's
// profile; negative: it predicts none.
double predicted_us(const std::string& plan) {
  constexpr const char* kWord = "predicted: ";
  const std::size_t at = plan.find(kWord);
  return at == std::string::npos ? -1
                                 : std::strtod(plan.c_str() + at + std::strlen(kWord), nullptr);
}

// Whether all cells were right.
bool all_right(const Job& job, const HaloShape& shape, const std::vector<Running>& contenders,
               int epoch) {
  bool right = true;
  for (const Running& running : contenders) {
    const std::int64_t wrong = wrong_cells(*running.contender, epoch);
    right &= wrong == 0;
    if (job.speaks && wrong != 0)
      std::fprintf(stderr, "%s, %s: %lld wrong cells\n", name_of(shape).c_str(),
                   running.name.c_str(), static_cast<long long>(wrong));
  }
  return right;
}

// Whether all cells were right; prints the lines if so.
bool measure(const Job& job, const HaloShape& shape, const std::vector<Running>& contenders) {
  if (!all_right(job, shape, contenders, 0)) return false;
  const auto seconds = sample_all(job.options.budget, contenders);
  for (const Running& running : contenders)
    if (job.speaks && std::ranges::find(job.plans, running.name) != job.plans.end())
      std::fprintf(stderr, "%s, %s:\n%s", name_of(shape).c_str(), running.name.c_str(),
                   running.contender->plan().c_str());
  if (!all_right(job, shape, contenders, 1)) return false;
  const std::int64_t bytes = halo_bytes(job.box, shape).all() * shape.gpus;
  for (std::size_t i = 0; job.speaks && i < contenders.size(); ++i) {
    const std::string& way = contenders[i].name;
    std::vector<Field> fields = {{"op", "exchange"}, {"way", way}, {"bytes_per_rank", bytes}};
    const double host = contenders[i].contender->host_us();
    if (host >= 0) fields.emplace_back("host_us", host);
    const double predicted = predicted_us(contenders[i].contender->plan());
    if (predicted >= 0) fields.emplace_back("predicted_us", predicted);
    job.report.line(name_of(shape) + "_" + way, summarize(to_microseconds(seconds[i])), "-us",
                    fields);
  }
  return true;
}

bool run_contenders(const Job& job, const HaloShape& shape, const std::vector<std::string>& ways) {
  // Destroying these is collective: a rank that fails alone gives up before.
  std::vector<Running> contenders;
  try {
    for (const ContenderKind& kind : contender_kinds()) {
      if (std::ranges::find(ways, kind.name) == ways.end()) continue;
      if (auto contender = kind.make(job.box, shape))
        contenders.push_back({kind.name, std::move(contender)});
    }
    return measure(job, shape, contenders);
  } catch (const strake::InvalidArgument&) {  // of all ranks alike
    throw;
  } catch (const NoDevice&) {
    throw;
  } catch (const std::exception& error) {
    give_up(error);
  }
}

void run_bar(const Job& job, const HaloShape& shape) try {
  const Bar bar = measure_bar(job.box, shape, job.options.quick);
  const HaloBytes bytes = halo_bytes(job.box, shape);
  if (!job.speaks) return;
  job.report.line(name_of(shape) + "_" + kBar, bar.microseconds, "-us",
                  {{"op", "exchange"},
                   {"way", kBar},
                   {"bytes_per_rank", bytes.all()},
                   {"bytes_within", bytes.within},
                   {"bytes_to_others", bytes.to_others},
                   {"within_gigabytes_per_s", bar.within_gigabytes_per_s},
                   {"to_others_gigabytes_per_s", bar.to_others_gigabytes_per_s},
                   {"within_by", bar.within_by},
                   {"to_others_by", bar.to_others_by}});
} catch (const NoDevice&) {
  throw;
} catch (const std::exception& error) {
  give_up(error);
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  const bench::Options options = bench::parse_options(
      argc, argv, "Ghost exchange of a Grid, and by other ways, on any number of ranks",
      {{"--n", "Cells a side of a rank's cube (64), several times if need be", &wanted.edges},
       {"--quantities", "Arrays (1), several times if need be", &wanted.quantities},
       {"--radius", "Ghost cells on each side (1), several times if need be", &wanted.radii},
       {"--case", "rajaperf: 100^3 a rank, 3 quantities, radius 1. ghex: 128^3, 3, 3",
        &wanted.cases},
       {"--gpus-a-rank",
        "Devices of a rank (1), each with such a cube: a Grid alone has several; several times if "
        "need be",
        &wanted.gpus},
       {"--plan",
        "Prints the plan of this way, and how its last exchange went on rank 0's device (a Grid's)",
        &wanted.plans},
       {"--way",
        "Only this one, several times if need be; --list names them behind the cases ('not fused': "
        "an exchange a direction and quantity)",
        &wanted.ways}});
  const std::vector<HaloShape> shapes = shapes_of(wanted, options.quick);
  const std::vector<std::string> ways = ways_of(wanted);
  const bench::Environment mpi(&argc, &argv);
  const bench::Report report("halo", mpi.ranks(), mpi.library());
  const RankBox box(mpi.rank(), mpi.ranks());
  const Job job{box, options, report, mpi.rank() == 0, wanted.plans};
  const auto selected = [&](const HaloShape& shape) {
    std::vector<std::string> some;
    for (const std::string& way : ways)
      if (options.selects(name_of(shape) + "_" + way)) some.push_back(way);
    return some;
  };
  bool right = true;
  try {
    for (const HaloShape& shape : shapes) {
      const std::vector<std::string> some = selected(shape);
      for (const std::string& way : some)
        if (options.list && job.speaks) std::printf("%s_%s\n", name_of(shape).c_str(), way.c_str());
      if (!options.list) right &= run_contenders(job, shape, some);
    }
    // Last: it makes contexts on other ranks' devices.
    for (const HaloShape& shape : shapes)
      if (!options.list && shape.gpus == 1 && std::ranges::count(selected(shape), kBar) > 0)
        run_bar(job, shape);
  } catch (const strake::InvalidArgument& error) {  // of all ranks alike
    if (job.speaks) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const bench::NoDevice& error) {
    if (job.speaks) std::fprintf(stderr, "skipped: %s\n", error.what());
    return 77;
  }
  return right ? 0 : 1;
}
