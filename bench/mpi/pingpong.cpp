// Half round trip of the datatypes of applications between two ranks, the same type on both sides:
// by MPI's functions, which an interposer takes over, and in turns by those beneath it. Where a
// process's pages lie changes a message's time up to four-fold, so that two processes compare
// badly.
#include <cstdio>

#include "mpi/case.hpp"
#include "mpi/check.hpp"
#include "mpi/environment.hpp"
#include "mpi/memory.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/buffer.hpp"
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

// Sends once in each direction and compares the received buffer, gaps and all. True on all ranks,
// or on none.
bool check_message(const Case& c, const Memory& buffer, std::int64_t payload, int rank) {
  const Buffer packed(payload);
  const Buffer expected(c.buffer_bytes);
  const unsigned mine = 1 + static_cast<unsigned>(rank);
  const unsigned theirs = 3 - mine;
  int right = 1;
  for (const int sender : {0, 1}) {
    fill(buffer.data(), c.buffer_bytes, mine);
    if (rank == sender) {
      send(c, buffer, 1 - rank);
      continue;
    }
    fill(expected.data(), c.buffer_bytes, theirs);
    pack_by_loop(c, expected.data(), packed.data());
    fill(expected.data(), c.buffer_bytes, mine);
    unpack_by_loop(c, packed.data(), expected.data());
    receive(c, buffer, sender);
    right = first_difference(buffer.data(), expected.data(), c.buffer_bytes) < 0;
  }
  int all = 0;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

bool run_case(const CaseSource& source, const Options& options, MemoryOf memory,
              const Report& report, int rank) {
  const Case c = source.make();
  c.type.commit();
  const Traffic traffic = traffic_of(c.blocks, c.buffer_bytes);
  const Memory buffer(c.buffer_bytes, memory);
  if (!check_message(c, buffer, traffic.payload_bytes, rank)) {
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
