// Half round trip of the datatypes of applications between two ranks, the same type on both sides:
// by MPI's functions, which an interposer takes over, and in turns by those beneath it. Where a
// process's pages lie changes a message's time up to four-fold, so that two processes compare
// badly.
#include <cstdio>
#include <cstring>

#include "mpi/case.hpp"
#include "mpi/check.hpp"
#include "mpi/environment.hpp"
#include "mpi/memory.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace {

using namespace bench;

constexpr int kTag = 7;

void receive(const Case& c, const Memory& buffer, int from, decltype(&MPI_Recv) recv = MPI_Recv) {
  recv(buffer.data(), c.count, c.type.get(), from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void send(const Case& c, const Memory& buffer, int to, decltype(&MPI_Send) send = MPI_Send) {
  send(buffer.data(), c.count, c.type.get(), to, kTag, MPI_COMM_WORLD);
}

bool run_case(const CaseSource& source, const Options& options, MemoryOf memory,
              const Report& report, int rank) {
  const Case c = source.make();
  c.type.commit();
  const Traffic traffic = traffic_of(c.blocks, c.buffer_bytes);
  const Memory buffer(c.buffer_bytes, memory);
  const auto size = static_cast<std::size_t>(c.buffer_bytes);
  const bool right = check_messages(
      c, rank, [&](const std::byte* from) { std::memcpy(buffer.data(), from, size); },
      [&] { return std::vector<std::byte>(buffer.data(), buffer.data() + size); },
      [&](int to) { send(c, buffer, to); }, [&](int from) { receive(c, buffer, from); });
  if (!right) {
    if (rank == 0) std::fprintf(stderr, "%s: received bytes are wrong\n", source.name.c_str());
    return false;
  }
  const auto found = half_round_trips(
      options.budget, rank, true, [&](int to, auto by) { send(c, buffer, to, by); },
      [&](int from, auto by) { receive(c, buffer, from, by); });
  if (rank == 0) {
    report.line(source.name + (memory == MemoryOf::Mpi ? "_alloc_mem" : ""), found[0], "-us",
                {{"op", "half_round_trip"},
                 {"beneath", found[1].median},
                 {"payload_bytes", traffic.payload_bytes},
                 {"blocks", static_cast<std::int64_t>(c.blocks.size())}});
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> values;
  const bench::Options options = bench::parse_options(
      argc, argv, "Half round trip of the datatypes of applications between two ranks",
      {{"--memory", bench::kMemoryHelp, &values}});
  const std::optional<bench::MemoryOf> memory = bench::parse_memory(values);
  if (!memory) return 2;
  const bench::CaseList cases = bench::all_cases(options.quick);
  if (options.list) {
    for (const auto& source : cases) std::puts(source.name.c_str());
    return 0;
  }
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  const bench::Report report("pingpong", mpi.ranks(), mpi.library());
  bool right = true;
  for (const auto& source : cases) {
    if (options.selects(source.name))
      right &= run_case(source, options, *memory, report, mpi.rank());
  }
  return right ? 0 : 1;
}
