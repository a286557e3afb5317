// Half round trip of 8 bytes of host memory in processes that use a device: what an interposer
// costs where there is nothing to gain. Run it with and without one, in turn.
#include <cstdio>

#include "device_mpi/device.hpp"
#include "mpi/environment.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/options.hpp"

namespace {

using namespace bench;

constexpr int kTag = 3;
constexpr int kBytes = 8;

void round_trip(char* out, char* in, int rank) {
  if (rank == 0) MPI_Send(out, kBytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
  MPI_Recv(in, kBytes, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(out, kBytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
}

bool measure(const char* name, char* out, char* in, int rank, const Options& options,
             const Report& report) {
  std::fill_n(out, kBytes, static_cast<char>('a' + rank));
  round_trip(out, in, rank);
  for (int i = 0; i < kBytes; ++i) {
    if (in[i] != 'b' - rank) return false;
  }
  const auto seconds = sample_together(options.budget, [&] { round_trip(out, in, rank); });
  const Summary us = summarize(scaled(seconds, 0.5e6));
  if (rank == 0) report.line(name, us, "-us", {{"device", device_name()}});
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options = bench::parse_options(
      argc, argv, "8 bytes of host memory between two ranks that use a device");
  // 100 round trips or more a sample: single ones vary more than the difference that is looked for.
  options.budget.sample_seconds = options.quick ? 50e-6 : 500e-6;
  bench::require_device();
  bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  bench::use_device(mpi.rank());
  const bench::DeviceMemory in_use(bench::Where::Device, 1 << 20);
  const bench::Report report("device_mpi_latency", mpi.ranks(), mpi.library());
  char stack_out[kBytes] = "";
  char stack_in[kBytes] = "";
  std::vector<char> heap_out(kBytes);
  std::vector<char> heap_in(kBytes);
  const int rank = mpi.rank();
  if (!measure("send_recv_8B/stack", stack_out, stack_in, rank, options, report) ||
      !measure("send_recv_8B/heap", heap_out.data(), heap_in.data(), rank, options, report)) {
    std::fprintf(stderr, "rank %d got wrong bytes\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}
