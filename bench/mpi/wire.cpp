// Half round trip of contiguous bytes on the host, named to MPI as one run, or with the last byte
// apart. Not for use with the interposer: it shows what the library itself does with either.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <tuple>

#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/buffer.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace {

using namespace bench;

constexpr int kTag = 7;
constexpr int kHole = 64;
constexpr int kRounds = 5;

/// `bytes` bytes, the last of them kHole bytes behind its place.
Datatype apart_type(int bytes) {
  const int lengths[] = {bytes - 1, 1};
  const int places[] = {0, bytes - 1 + kHole};
  Datatype type = indexed(lengths, places, MPI_BYTE);
  type.commit();
  return type;
}

void exchange(const Buffer& buffer, int send_count, MPI_Datatype send_type, int bytes, int rank) {
  const auto send = [&] {
    MPI_Send(buffer.data(), send_count, send_type, 1 - rank, kTag, MPI_COMM_WORLD);
  };
  if (rank == 0) send();
  MPI_Recv(buffer.data(), bytes, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) send();
}

void run_size(int bytes, const Options& options, const Report& report, int rank) {
  const Buffer buffer(bytes + kHole);
  std::memset(buffer.data(), 1, static_cast<std::size_t>(bytes + kHole));
  const Datatype apart = apart_type(bytes);
  const int counts[] = {bytes, 1};
  const MPI_Datatype types[] = {MPI_BYTE, apart.get()};
  const auto medians = sample_by_turns(
      std::vector<Plan>(2, Plan{1, kRounds}), {kRounds},
      [&](std::size_t which, const Plan&, std::vector<double>& to) {
        const auto seconds = sample_together(
            options.budget, [&] { exchange(buffer, counts[which], types[which], bytes, rank); });
        to.push_back(summarize(scaled(seconds, 0.5e6)).median);
      });
  if (rank != 0) return;
  const auto& [whole_us, apart_us] = std::tie(medians[0], medians[1]);
  report.line("wire_" + std::to_string(bytes) + "B", summarize(apart_us), "-us",
              {{"contiguous_us", summarize(whole_us).median},
               {"contiguous_best_us", *std::min_element(whole_us.begin(), whole_us.end())},
               {"best_us", *std::min_element(apart_us.begin(), apart_us.end())}});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "Half round trip of contiguous bytes, whole or with the last byte apart");
  const int sizes[] = {2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20};
  if (options.list) {
    for (const int bytes : sizes) std::printf("wire_%dB\n", bytes);
    return 0;
  }
  const Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  const Report report("wire", mpi.ranks(), mpi.library());
  for (const int bytes : sizes) {
    if (options.selects("wire_" + std::to_string(bytes) + "B")) {
      run_size(bytes, options, report, mpi.rank());
    }
  }
  return 0;
}
