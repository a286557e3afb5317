// Halo exchange of a periodic grid of doubles with all 26 neighbours, as subarrays, in the forms
// that programs use: every ghost cell is checked before and after the timing.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "mpi/environment.hpp"
#include "mpi/halo_forms.hpp"
#include "mpi/slices.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

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

// Parses a --case: edge, radius, number of fields, form. False if `text` is something else.
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
                {{"op", "exchange"}, {"bytes_per_rank", halo_bytes(box, one.shape).all()}});
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
       {"--settle", bench::kSettleHelp, &settle}});
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
  const std::optional<double> settles_in = bench::parse_settle(settle);
  if (!settles_in) return 2;
  const bench::Environment mpi(&argc, &argv);
  const bench::Report report("exchange", mpi.ranks(), mpi.library());
  const RankBox box(mpi.rank(), mpi.ranks());
  bool right = true;
  for (const ExchangeCase& one : cases) {
    if (options.list && mpi.rank() == 0) std::puts(one.name().c_str());
    if (options.list || !options.selects(one.name())) continue;
    right &= measure(one, box, options.budget, *settles_in, mpi.rank() == 0, report);
  }
  return right ? 0 : 1;
}
