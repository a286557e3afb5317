#include "interpose/recorded_graph.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpose/at_end.hpp"
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

/// The ranks that messages on `comm` go to, in MPI_COMM_WORLD: those of the other group of an
/// intercommunicator. Negative: a rank of another job.
std::vector<int> receivers(MPI_Comm comm) {
  const mpi::RealMpi& real = real_mpi();
  int is_inter = 0;
  mpi::check(real.MPI_Comm_test_inter(comm, &is_inter), "MPI_Comm_test_inter");
  if (is_inter == 0) return mpi::world_ranks(comm);
  MPI_Group others = MPI_GROUP_NULL;
  mpi::check(real.MPI_Comm_remote_group(comm, &others), "MPI_Comm_remote_group");
  return mpi::world_ranks_of_group(others);
}

int rank_in_world(MPI_Comm comm, int rank) {
  if (rank < 0) return -1;
  if (const mpi::CommunicatorPtr& known = mpi::communicator(comm)) return known->world_rank(rank);
  const std::vector<int> ranks = receivers(comm);
  return rank < static_cast<int>(ranks.size()) ? ranks[static_cast<std::size_t>(rank)] : -1;
}

/// The ranks in MPI_COMM_WORLD of those to which this one sends by the topology of `comm`.
std::vector<int> neighbours(MPI_Comm comm) {
  std::vector<int> ranks;
  if (const auto found = mpi::neighbours_of(comm))
    for (const int rank : found->destinations) ranks.push_back(rank_in_world(comm, rank));
  return ranks;
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

/// The messages of this rank, three numbers each.
std::vector<std::uint64_t> own_edges(int rank) {
  std::vector<std::uint64_t> own;
  for (const auto& [to, bytes] : recording().bytes_to)
    own.insert(own.end(),
               {static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(to), bytes});
  return own;
}

/// A file of edges. What can't be written is said once, at the end.
class EdgeFile {
 public:
  EdgeFile(std::string path, int ranks) : path_(std::move(path)) {
    file_ = std::fopen(path_.c_str(), "w");
    good_ = file_ != nullptr;
    // The last rank is a vertex even if it sent nothing.
    good_ = good_ && std::fprintf(file_,
                                  "# The bytes that %d ranks have sent each other: from to bytes\n"
                                  "%d %d 0\n",
                                  ranks, ranks - 1, ranks - 1) > 0;
  }
  ~EdgeFile() {
    const bool closed = file_ != nullptr && std::fclose(file_) == 0;
    if (!good_ || !closed) log::warn("the graph of messages can't be written to {}", path_);
  }
  EdgeFile(const EdgeFile&) = delete;
  EdgeFile& operator=(const EdgeFile&) = delete;
  void add(const std::vector<std::uint64_t>& edges) {
    for (std::size_t i = 0; good_ && i < edges.size(); i += 3)
      good_ = std::fprintf(file_, "%llu %llu %llu\n", static_cast<unsigned long long>(edges[i]),
                           static_cast<unsigned long long>(edges[i + 1]),
                           static_cast<unsigned long long>(edges[i + 2])) > 0;
  }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  bool good_ = false;
};

/// Rank 0 writes what one rank after the other sends it.
void write_all(MPI_Comm comm, int rank, int ranks) {
  const mpi::RealMpi& real = real_mpi();
  std::vector<std::uint64_t> edges = own_edges(rank);
  if (rank != 0) {
    mpi::check(
        real.MPI_Send(edges.data(), static_cast<int>(edges.size()), MPI_UINT64_T, 0, 0, comm),
        "MPI_Send");
    return;
  }
  EdgeFile file(std::string(settings::text(settings::Id::record_graph)), ranks);
  file.add(edges);
  for (int from = 1; from < ranks; ++from) {
    edges.resize(3 * static_cast<std::size_t>(ranks));
    MPI_Status status;
    int count = 0;
    mpi::check(real.MPI_Recv(edges.data(), static_cast<int>(edges.size()), MPI_UINT64_T, from, 0,
                             comm, &status),
               "MPI_Recv");
    mpi::check(real.MPI_Get_count(&status, MPI_UINT64_T, &count), "MPI_Get_count");
    edges.resize(static_cast<std::size_t>(count));
    file.add(edges);
  }
}

}  // namespace

bool is_on() noexcept { return recording().on.load(std::memory_order_relaxed); }

void start() noexcept { recording().on = !settings::text(settings::Id::record_graph).empty(); }

void sent(MPI_Comm comm, int dest, MPI_Count count, MPI_Datatype type) noexcept {
  quietly([&] { add({rank_in_world(comm, dest), bytes_of(count, type)}); });
}

void sent_blocks(MPI_Comm comm, const void* from, Receivers to, const BlockAt& block) noexcept {
  if (from == MPI_IN_PLACE) return;
  quietly([&] {
    const std::vector<int> ranks = to == Receivers::All ? receivers(comm) : neighbours(comm);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto [count, type] = block(i);
      add({ranks[i], bytes_of(count, type)});
    }
  });
}

void made_other(MPI_Request request) noexcept {
  quietly([&] {
    const std::lock_guard lock(recording().mutex);
    recording().persistent.erase(mpi::key_of(request));
  });
}

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
  // Only where every rank has Strake can all ranks take part.
  if (settings::text(settings::Id::job).empty()) return;
  quietly([&] {
    const QuietErrors quiet;
    if (!wanted_by_job(is_on())) return;
    int rank = 0;
    int ranks = 0;
    real.MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    real.MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    write_all(OwnWorld(rank).get(), rank, ranks);
  });
  recording().on = false;
}

}  // namespace strake::interpose::recorded
