// Half round trip of random strided messages of host memory: what the choice of a method is judged
// by, run with packing forced and with nothing forced, and the library's own functions beside
// either (bench/run-choice).
#include <cstring>
#include <vector>

#include "mpi/environment.hpp"
#include "mpi/random_transfers.hpp"

int main(int argc, char** argv) {
  const bench::Options options =
      bench::parse_options(argc, argv, "Half round trip of random strided messages, host memory");
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  std::vector<std::byte> storage;
  const auto copy = [](std::byte* to, const std::byte* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  };
  const bench::TransferMemory memory{[&](std::int64_t bytes) {
                                       storage.resize(static_cast<std::size_t>(bytes));
                                       return storage.data();
                                     },
                                     copy, copy, true};
  const bench::Report report("choice", mpi.ranks(), mpi.library());
  return bench::run_transfers(memory, options, report, {}, mpi.rank()) ? 0 : 1;
}
