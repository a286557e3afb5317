// Halo exchange of a periodic grid of doubles with all 26 neighbours, as subarrays, in the forms
// that programs use: every ghost cell is checked before and after the timing.
#include <cstdio>
#include <cstdlib>
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

bool measure(const ExchangeCase& one, const RankBox& box, const Budget& budget, double settles_in,
             int rank, const Report& report) {
  Halo halo(box, one.shape);
  const auto exchange = one.form->prepare(halo);
  const auto wrong = [&](int epoch) {
    halo.fill(epoch);
    exchange();
    return halo.wrong_cells(epoch);
  };
  return measure_checked(
      {one.name(), "exchange", halo_bytes(box, one.shape).all(), exchange, wrong}, budget,
      settles_in, rank, report);
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
    right &= measure(one, box, options.budget, *settles_in, mpi.rank(), report);
  }
  return right ? 0 : 1;
}
