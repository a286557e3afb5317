// Redistributions of an array of doubles in host memory over all ranks. Every element is checked
// before and after the timing.
#include <string>
#include <vector>

#include "mpi/environment.hpp"
#include "mpi/redistribution.hpp"
#include "support/report.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> usual = {"16,1,1,transpose2", "16,1,1,transpose3",
                                          "16,1,1,alltoallv"};
  const bench::RedistributionOptions options = bench::parse_redistributions(
      argc, argv, "Redistributions of an array over any number of ranks", {usual, usual});
  if (options.options.list) {
    bench::list_redistributions(options);
    return 0;
  }
  const bench::Environment mpi(&argc, &argv);
  const bench::Report report("transpose", mpi.ranks(), mpi.library());
  return bench::measure_redistributions(options, bench::host_memory(), mpi, report) ? 0 : 1;
}
