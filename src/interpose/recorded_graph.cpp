#include "interpose/recorded_graph.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "mpi/communicators.hpp"
#include "mpi/neighbours.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"

namespace strake::interpose::recorded {
namespace {

using mpi::real_mpi;

/// The bytes to a rank of MPI_COMM_WORLD.
struct Message {
  int to = -1;
  std::uint64_t bytes = 0;
};

struct Recording {
  std::atomic<bool> on{false};
  std::mutex mutex;
  std::map<int, std::uint64_t> bytes_to;                  ///< by rank of MPI_COMM_WORLD
  std::unordered_map<std::uint64_t, Message> persistent;  ///< by request
};
Recording& recording() { return ProcessState::part<Recording>(); }

int rank_in_world(MPI_Comm comm, int rank) {
  if (rank < 0) return -1;
  if (const mpi::CommunicatorPtr& known = mpi::communicator(comm)) return known->world_rank(rank);
  const std::vector<int> ranks = mpi::world_ranks(comm);
  return rank < static_cast<int>(ranks.size()) ? ranks[static_cast<std::size_t>(rank)] : -1;
}

std::uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL ||
      real_mpi().MPI_Type_size_x(type, &size) != MPI_SUCCESS || size <= 0)
    return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

void add(const Message& message) {
  if (message.to < 0 || message.bytes == 0) return;
  const std::lock_guard lock(recording().mutex);
  recording().bytes_to[message.to] += message.bytes;
}

/// Runs `record()`; what can't be recorded is left out.
template <typename Record>
void quietly(const Record& record) noexcept {
  try {
    record();
  } catch (const std::exception&) {
  }
}

template <typename BytesOf>
void to_neighbours(MPI_Comm comm, const BytesOf& bytes) noexcept {
  quietly([&] {
    const auto neighbours = mpi::neighbours_of(comm);
    if (!neighbours) return;
    for (std::size_t i = 0; i < neighbours->destinations.size(); ++i)
      add({rank_in_world(comm, neighbours->destinations[i]), bytes(i)});
  });
}

template <typename BytesOf>
void to_all(MPI_Comm comm, const BytesOf& bytes) noexcept {
  quietly([&] {
    const std::vector<int> ranks = mpi::world_ranks(comm);
    for (std::size_t i = 0; i < ranks.size(); ++i) add({ranks[i], bytes(i)});
  });
}

/// The edges of all ranks, three numbers each, on rank 0.
std::vector<std::uint64_t> gathered(int rank, int ranks) {
  const mpi::RealMpi& real = real_mpi();
  std::vector<std::uint64_t> own;
  for (const auto& [to, bytes] : recording().bytes_to)
    own.insert(own.end(),
               {static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(to), bytes});
  const auto count = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  mpi::check(real.MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD),
             "MPI_Gather");
  std::vector<int> begins(counts.size());
  for (std::size_t i = 1; i < counts.size(); ++i) begins[i] = begins[i - 1] + counts[i - 1];
  std::vector<std::uint64_t> all(rank == 0 ? static_cast<std::size_t>(begins.back() + counts.back())
                                           : 0);
  mpi::check(real.MPI_Gatherv(own.data(), count, MPI_UINT64_T, all.data(), counts.data(),
                              begins.data(), MPI_UINT64_T, 0, MPI_COMM_WORLD),
             "MPI_Gatherv");
  return all;
}

void write_file(const std::string& path, int ranks, const std::vector<std::uint64_t>& edges) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  bool good = file != nullptr &&
              std::fprintf(file, "# The bytes that %d ranks have sent each other: from to bytes\n",
                           ranks) > 0;
  // The last rank is a vertex even if it sent nothing.
  good = good && std::fprintf(file, "%d %d 0\n", ranks - 1, ranks - 1) > 0;
  for (std::size_t i = 0; good && i < edges.size(); i += 3)
    good = std::fprintf(file, "%llu %llu %llu\n", static_cast<unsigned long long>(edges[i]),
                        static_cast<unsigned long long>(edges[i + 1]),
                        static_cast<unsigned long long>(edges[i + 2])) > 0;
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!good || !closed) log::warn("the graph of messages can't be written to {}", path);
}

}  // namespace

bool is_on() noexcept { return recording().on.load(std::memory_order_relaxed); }

void start() noexcept { recording().on = !settings::text(settings::Id::record_graph).empty(); }

void sent(MPI_Comm comm, int dest, MPI_Count count, MPI_Datatype type) noexcept {
  quietly([&] { add({rank_in_world(comm, dest), bytes_of(count, type)}); });
}

void sent_to_neighbours(MPI_Comm comm, MPI_Count count, MPI_Datatype type) noexcept {
  to_neighbours(comm, [&](std::size_t) { return bytes_of(count, type); });
}
template <typename Number>
void sent_to_neighbours(MPI_Comm comm, const Number* counts, MPI_Datatype type) noexcept {
  to_neighbours(comm, [&](std::size_t i) { return bytes_of(counts[i], type); });
}
template <typename Number>
void sent_to_neighbours(MPI_Comm comm, const Number* counts, const MPI_Datatype* types) noexcept {
  to_neighbours(comm, [&](std::size_t i) { return bytes_of(counts[i], types[i]); });
}
void sent_to_all(MPI_Comm comm, MPI_Count count, MPI_Datatype type) noexcept {
  to_all(comm, [&](std::size_t) { return bytes_of(count, type); });
}
template <typename Number>
void sent_to_all(MPI_Comm comm, const Number* counts, MPI_Datatype type) noexcept {
  to_all(comm, [&](std::size_t i) { return bytes_of(counts[i], type); });
}
template <typename Number>
void sent_to_all(MPI_Comm comm, const Number* counts, const MPI_Datatype* types) noexcept {
  to_all(comm, [&](std::size_t i) { return bytes_of(counts[i], types[i]); });
}

#define STRAKE_RECORDED(Number)                                                            \
  template void sent_to_neighbours(MPI_Comm, const Number*, MPI_Datatype) noexcept;        \
  template void sent_to_neighbours(MPI_Comm, const Number*, const MPI_Datatype*) noexcept; \
  template void sent_to_all(MPI_Comm, const Number*, MPI_Datatype) noexcept;               \
  template void sent_to_all(MPI_Comm, const Number*, const MPI_Datatype*) noexcept;
STRAKE_RECORDED(int)
STRAKE_RECORDED(MPI_Count)
#undef STRAKE_RECORDED

void made_persistent(MPI_Request request, MPI_Comm comm, int dest, MPI_Count count,
                     MPI_Datatype type) noexcept {
  quietly([&] {
    const Message message{rank_in_world(comm, dest), bytes_of(count, type)};
    const std::lock_guard lock(recording().mutex);
    recording().persistent[mpi::key_of(request)] = message;
  });
}

void started(int count, const MPI_Request* requests) noexcept {
  quietly([&] {
    for (int i = 0; i < count; ++i) {
      Message message;
      {
        const std::lock_guard lock(recording().mutex);
        const auto found = recording().persistent.find(mpi::key_of(requests[i]));
        if (found != recording().persistent.end()) message = found->second;
      }
      add(message);
    }
  });
}

void write() noexcept {
  const mpi::RealMpi& real = real_mpi();
  int rank = 0;
  int ranks = 0;
  real.MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  real.MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // Only where every rank has Strake can all ranks take part.
  if (settings::text(settings::Id::job).empty()) return;
  int wanted = is_on() ? 1 : 0;
  quietly([&] {
    mpi::check(real.MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    if (wanted == 0) return;
    const std::vector<std::uint64_t> edges = gathered(rank, ranks);
    if (rank == 0)
      write_file(std::string(settings::text(settings::Id::record_graph)), ranks, edges);
  });
  recording().on = false;
}

}  // namespace strake::interpose::recorded
