// Halo exchange of a periodic grid of doubles with all 26 neighbours, as subarrays, in the forms
// that programs use: every ghost cell is checked before and after the timing.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "mpi/environment.hpp"
#include "mpi/halo_forms.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/turns.hpp"

namespace {

using namespace bench;

struct ExchangeCase {
  HaloShape shape;
  const HaloForm* form;

  [[nodiscard]] std::string name() const {
    return std::to_string(shape.edge) + "^3_r" + std::to_string(shape.radius) + "_q" +
           std::to_string(shape.quantities) + "_" + form->name +
           (shape.memory == MemoryOf::Mpi ? "_alloc_mem" : "");
  }
};

// EDGE,RADIUS,QUANTITIES,FORM. False if it is something else.
bool parse_case(const std::string& text, ExchangeCase& parsed) {
  HaloShape& s = parsed.shape;
  int end = 0;
  if (std::sscanf(text.c_str(), "%d,%d,%d,%n", &s.edge, &s.radius, &s.quantities, &end) != 3 ||
      end == 0 || s.radius < 1 || s.edge < s.radius || s.quantities < 1) {
    return false;
  }
  for (const HaloForm& form : halo_forms()) {
    if (text.substr(static_cast<std::size_t>(end)) == form.name) {
      parsed.form = &form;
      return true;
    }
  }
  return false;
}

// Every form of one small halo, and point-to-point messages of larger ones.
std::vector<ExchangeCase> usual_cases(bool quick) {
  std::vector<ExchangeCase> cases;
  for (const HaloForm& form : halo_forms()) cases.push_back({{8, 2, 2}, &form});
  if (quick) return cases;
  for (const int edge : {32, 64, 128, 256}) {
    for (const int radius : {1, 3}) cases.push_back({{edge, radius, 1}, &halo_forms().front()});
  }
  return cases;
}

// Fills the grid anew and exchanges once: cells that are wrong on all ranks together. An epoch's
// data differs from another's, so that a ghost cell of an earlier exchange is found.
std::int64_t wrong_cells(Halo& halo, const std::function<void()>& exchange, int epoch) {
  halo.fill(epoch);
  exchange();
  std::int64_t wrong = halo.wrong_cells(epoch);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return wrong;
}

// Each sample is the slowest rank's. Ranks that disagree about the number of samples would be a
// fault of this program.
std::vector<double> slowest_rank(std::vector<double> samples) {
  MPI_Allreduce(MPI_IN_PLACE, samples.data(), static_cast<int>(samples.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  return samples;
}

// Runs exchanges for about so long, so that Strake's trials end before the measurement.
void settle(double seconds, const std::function<void()>& exchange) {
  constexpr int kAtATime = 16;
  const double begin = MPI_Wtime();
  for (int more = seconds > 0 ? 1 : 0; more != 0;) {
    for (int i = 0; i < kAtATime; ++i) exchange();
    more = MPI_Wtime() - begin < seconds ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

// As sample_together, but in slices, in turn with those of other jobs: what a machine does to
// one job in half a second, it then does to all.
std::vector<double> sample_in_slices(const Budget& budget, double settles_in,
                                     const std::function<void()>& exchange) {
  constexpr int kSlices = 5;
  Turns::instance().next();
  settle(settles_in, exchange);
  const Plan plan = plan_together(budget, exchange);
  std::vector<double> samples;
  for (int slice = 0; slice < kSlices; ++slice) {
    if (slice > 0) Turns::instance().next();
    const int part = plan.samples * (slice + 1) / kSlices - plan.samples * slice / kSlices;
    MPI_Barrier(MPI_COMM_WORLD);
    exchange();  // does not count: another job's data is in the caches
    const std::vector<double> taken = take_samples({plan.calls, part}, exchange);
    samples.insert(samples.end(), taken.begin(), taken.end());
  }
  return samples;
}

// Whether all cells were right; prints the line if so.
bool measure(const ExchangeCase& one, const RankBox& box, const Budget& budget, double settles_in,
             bool speaks, const Report& report) {
  Halo halo(box, one.shape);
  const auto exchange = one.form->prepare(halo);
  std::vector<double> samples;
  std::int64_t wrong = wrong_cells(halo, exchange, 0);
  if (wrong == 0) {
    samples = slowest_rank(sample_in_slices(budget, settles_in, exchange));
    wrong = wrong_cells(halo, exchange, 1);
  }
  if (speaks && wrong != 0) {
    std::fprintf(stderr, "%s: %lld wrong cells\n", one.name().c_str(),
                 static_cast<long long>(wrong));
  }
  if (speaks && wrong == 0) {
    report.line(one.name(), summarize(to_microseconds(samples)), "-us",
                {{"op", "exchange"}, {"bytes_per_rank", halo.bytes_sent()}});
  }
  return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted;
  std::vector<std::string> memory;
  std::vector<std::string> settle;
  const bench::Options options = bench::parse_options(
      argc, argv, "Halo exchange with 26 neighbours on any number of ranks",
      {{"--case",
        "EDGE,RADIUS,QUANTITIES,FORM in place of the usual cases, several times if need be; FORM: "
        "p2p, persistent, sendrecv or neighbourhood",
        &wanted},
       {"--memory", "of the arrays: plain (the usual), or mpi for that of MPI_Alloc_mem", &memory},
       {"--settle", "milliseconds of exchanges before a case is measured (usually 0)", &settle}});
  std::vector<ExchangeCase> cases;
  for (const std::string& text : wanted) {
    if (!parse_case(text, cases.emplace_back())) {
      std::fprintf(stderr, "--case takes EDGE,RADIUS,QUANTITIES,FORM, not %s\n", text.c_str());
      return 2;
    }
  }
  if (wanted.empty()) cases = usual_cases(options.quick);
  const std::optional<MemoryOf> of = parse_memory(memory);
  if (!of) return 2;
  for (ExchangeCase& one : cases) one.shape.memory = *of;
  char* end = nullptr;
  const double settles_in = settle.empty() ? 0 : std::strtod(settle.back().c_str(), &end) / 1e3;
  const bool in_range = settles_in >= 0 && settles_in <= 10;
  if (end != nullptr && (*end != '\0' || end == settle.back().c_str() || !in_range)) {
    std::fprintf(stderr, "--settle takes 0 to 10000 milliseconds, not %s\n", settle.back().c_str());
    return 2;
  }
  const bench::Environment mpi(&argc, &argv);
  const bench::Report report("exchange", mpi.ranks(), mpi.library());
  const RankBox box(mpi.rank(), mpi.ranks());
  bool right = true;
  for (const ExchangeCase& one : cases) {
    if (options.list && mpi.rank() == 0) std::puts(one.name().c_str());
    if (options.list || !options.selects(one.name())) continue;
    right &= measure(one, box, options.budget, settles_in, mpi.rank() == 0, report);
  }
  return right ? 0 : 1;
}
