#include "job.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <utility>

#include "exchange/choice/choice.hpp"
#include "exchange/peers/backoff.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/wire.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

constexpr int kMeetTag = 1;

bool is_complete(MPI_Request& request) {
  int done = 0;
  mpi::check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

}  // namespace

const char* name_of(Path path) noexcept { return path == Path::Node ? "node" : "net"; }

Job::Job() {
  int provided = MPI_THREAD_SINGLE;
  // Like most applications: the benchmarks call MPI from one thread.
  mpi::check(PMPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  for (MPI_Comm* comm : {&comm_, &team_}) {
    mpi::check(PMPI_Comm_dup(MPI_COMM_WORLD, comm), "MPI_Comm_dup");
    mpi::check(PMPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  mpi::check(PMPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  mpi::check(PMPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  find_nodes();
}

Job::~Job() {
  mpi::free_wire_types();
  PMPI_Comm_free(&comm_);
  PMPI_Comm_free(&team_);
  PMPI_Finalize();
}

// As a rank asks for itself: a profile's results are found by this name.
std::string Job::library() const { return exchange::mpi_library(); }

void Job::find_nodes() {
  MPI_Comm machine = MPI_COMM_NULL;
  mpi::check(PMPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
             "MPI_Comm_split_type");
  mpi::check(PMPI_Comm_rank(machine, &local_rank_), "MPI_Comm_rank");
  int leader = rank_;
  mpi::check(PMPI_Bcast(&leader, 1, MPI_INT, 0, machine), "MPI_Bcast");
  mpi::check(PMPI_Comm_free(&machine), "MPI_Comm_free");

  const auto pretended = static_cast<int>(settings::number(settings::Id::ranks_per_node));
  const std::array<int, 2> mine = {leader, pretended > 0 ? local_rank_ / pretended : 0};
  std::vector<std::array<int, 2>> all(static_cast<std::size_t>(size_));
  mpi::check(PMPI_Allgather(mine.data(), 2, MPI_INT, all.data(), 2, MPI_INT, comm_),
             "MPI_Allgather");
  std::map<std::array<int, 2>, int> numbers;
  for (const std::array<int, 2>& node : all) {
    nodes_.push_back(numbers.emplace(node, static_cast<int>(numbers.size())).first->second);
  }
}

std::vector<int> Job::pair(Path path) const {
  for (int other = 1; other < size_; ++other) {
    if ((nodes_[static_cast<std::size_t>(other)] == nodes_[0]) == (path == Path::Node)) {
      return {0, other};
    }
  }
  return {};
}

std::vector<int> Job::node() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank) {
    if (nodes_[static_cast<std::size_t>(rank)] == 0) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<int> Job::pairs(Path path) const {
  std::vector<int> here;
  std::vector<int> there;
  for (int rank = 0; rank < size_; ++rank) {
    const int node = nodes_[static_cast<std::size_t>(rank)];
    if (node == 0) here.push_back(rank);
    if (node == 1) there.push_back(rank);
  }
  if (path == Path::Node) {
    // Halves rather than neighbours: launchers put neighbours on one socket.
    const auto middle = here.begin() + static_cast<std::ptrdiff_t>(here.size() / 2);
    there.assign(middle, here.end());
    here.erase(middle, here.end());
  }
  std::vector<int> both;
  for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
    both.push_back(here[i]);
    both.push_back(there[i]);
  }
  return both;
}

void Job::meet(std::span<const int> ranks) const {
  // Dissemination: after round i each knows of 2^(i+1) others.
  const auto me =
      static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
  for (std::size_t step = 1; step < ranks.size(); step *= 2) {
    const int to = ranks[(me + step) % ranks.size()];
    const int from = ranks[(me + ranks.size() - step) % ranks.size()];
    MPI_Request incoming = MPI_REQUEST_NULL;
    MPI_Request outgoing = MPI_REQUEST_NULL;
    mpi::check(PMPI_Irecv(nullptr, 0, MPI_BYTE, from, kMeetTag, comm_, &incoming), "MPI_Irecv");
    mpi::check(PMPI_Isend(nullptr, 0, MPI_BYTE, to, kMeetTag, comm_, &outgoing), "MPI_Isend");
    finish(incoming);
    finish(outgoing);
  }
}

void Job::broadcast(void* data, std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;  // counts are ints
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(
        PMPI_Ibcast(static_cast<std::byte*>(data) + done,
                    static_cast<int>(std::min(kPiece, bytes - done)), MPI_BYTE, 0, team_, &request),
        "MPI_Ibcast");
    wait_for(request);
  }
}

void Job::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  mpi::check(PMPI_Ibarrier(team_, &request), "MPI_Ibarrier");
  wait_for(request);
  awake_ = took_part_;
  took_part_ = false;
}

double Job::maximum(double value) {
  MPI_Request request = MPI_REQUEST_NULL;
  double largest = value;
  mpi::check(PMPI_Iallreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, team_, &request),
             "MPI_Iallreduce");
  if (value > 0) took_part_ = awake_ = true;
  wait_for(request);
  return largest;
}

void Job::wait_for(MPI_Request& request) const {
  // As long as the leader takes between two cases, and to judge a set of samples.
  constexpr auto kAwake = std::chrono::milliseconds(100);
  const auto end = std::chrono::steady_clock::now() + kAwake;
  exchange::Backoff backoff;
  for (; awake_ && std::chrono::steady_clock::now() < end; backoff.pause()) {
    if (is_complete(request)) return;
  }
  finish_asleep(request);
}

void finish(MPI_Request& request) {
  exchange::Backoff backoff;
  while (!is_complete(request)) backoff.pause();
}

void finish_asleep(MPI_Request& request) {
  // From the cost of a poll to what no sample of others notices, in steps that double.
  constexpr long kFirst = 2'000;
  constexpr long kLongest = 1'000'000;
  for (long nanoseconds = kFirst; !is_complete(request);
       nanoseconds = std::min(2 * nanoseconds, kLongest)) {
    const timespec pause{0, nanoseconds};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace strake::measure
