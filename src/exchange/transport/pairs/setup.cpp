#include "exchange/transport/pairs/setup.hpp"

#include <fmt/format.h>

#include <deque>
#include <exception>
#include <memory>

#include "exchange/peers/backoff.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

using Words = Setup::Words;

/// The first word of a message is its step, or this one: its sender has left, and a text follows.
constexpr std::int64_t kLeaves = 0;

/// Sends that have begun, and their words.
class Sends {
 public:
  explicit Sends(MPI_Comm comm) : comm_(comm), words_(std::make_unique<std::deque<Words>>()) {}
  ~Sends() {
    // After an error the MPI library may read them for an unknown time.
    if (!done_) (void)words_.release();
  }
  Sends(const Sends&) = delete;
  Sends& operator=(const Sends&) = delete;

  void begin(int peer, int tag, Words words, bool synchronous) {
    const auto send = synchronous ? mpi::real_mpi().MPI_Issend : mpi::real_mpi().MPI_Isend;
    const Words& kept = words_->emplace_back(std::move(words));
    done_ = false;
    mpi::check(send(kept.data(), static_cast<int>(kept.size()), MPI_INT64_T, peer, tag, comm_,
                    &all_.emplace_back(MPI_REQUEST_NULL)),
               synchronous ? "MPI_Issend" : "MPI_Isend");
  }
  [[nodiscard]] bool are_done() {
    if (done_) return true;
    int done = 0;
    mpi::check(mpi::real_mpi().MPI_Testall(static_cast<int>(all_.size()), all_.data(), &done,
                                           MPI_STATUSES_IGNORE),
               "MPI_Testall");
    return done_ = done != 0;
  }

 private:
  MPI_Comm comm_;
  std::unique_ptr<std::deque<Words>> words_;
  std::vector<MPI_Request> all_;
  bool done_ = true;
};

/// Receives a message from `source`, if one has come. \returns  from whom; negative: none has come
int receive_one(MPI_Comm comm, int source, int tag, Words& words) {
  const mpi::RealMpi& real = mpi::real_mpi();
  int there = 0;
  MPI_Status status;
  mpi::check(real.MPI_Iprobe(source, tag, comm, &there, &status), "MPI_Iprobe");
  if (there == 0) return -1;
  int length = 0;
  mpi::check(real.MPI_Get_count(&status, MPI_INT64_T, &length), "MPI_Get_count");
  words.resize(static_cast<std::size_t>(length));
  mpi::check(real.MPI_Recv(words.data(), length, MPI_INT64_T, status.MPI_SOURCE, tag, comm,
                           MPI_STATUS_IGNORE),
             "MPI_Recv");
  return status.MPI_SOURCE;
}

Words leaving(const std::string& reason) {
  Words words{kLeaves};
  words.insert(words.end(), reason.begin(), reason.end());
  return words;
}

std::string reason_of(const Words& words) { return {words.begin() + 1, words.end()}; }

}  // namespace

void Setup::agree(const std::string& fault, ErrorCode kind) const {
  if (collective_) return mpi::agree(comm_, fault, kind);
  if (!fault.empty()) mpi::throw_fault(fault, kind);
}

std::map<int, Words> Setup::receive_from(std::set<int> ranks, int tag) {
  std::map<int, Words> in;
  for (Backoff backoff; !ranks.empty(); backoff.pause()) {
    std::erase_if(ranks, [&](int rank) { return receive_one(comm_, rank, tag, in[rank]) >= 0; });
    meanwhile_();
  }
  return in;
}

std::map<int, Words> Setup::swap_words(Step step, std::map<int, Words> out) {
  if (collective_ && step == Step::Transfers) return deal(std::move(out));
  const int tag = collective_ ? peers::kPlanningTag + static_cast<int>(step) : peers::kPeersTag;
  Sends sends(comm_);
  std::set<int> ranks;
  for (auto& [rank, words] : out) {
    words.insert(words.begin(), static_cast<std::int64_t>(step));
    ranks.insert(rank);
    sends.begin(rank, tag, std::move(words), false);
  }
  std::map<int, Words> in = receive_from(ranks, tag);
  for (Backoff backoff; !sends.are_done(); backoff.pause()) meanwhile_();
  std::string fault;
  for (auto& [rank, words] : in) {
    if (words.front() == kLeaves) {
      staying_.erase(rank);
      if (fault.empty())
        fault = fmt::format("rank {} can't plan an exchange with rank {}: {}", rank, rank_,
                            reason_of(words));
    } else if (words.front() != static_cast<std::int64_t>(step) && fault.empty()) {
      fault = fmt::format("ranks {} and {} plan two exchanges in different orders", rank_, rank);
    }
    words.erase(words.begin());
  }
  if (!fault.empty()) throw Error(fault);
  return in;
}

bool Setup::conclude(bool mine, bool among_peers) {
  if (collective_) {
    int all = mine ? 1 : 0;
    mpi::check(mpi::real_mpi().MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm_),
               "MPI_Allreduce");
    return all != 0;
  }
  std::map<int, Words> out;
  for (const int rank : staying_) out[rank];
  over_ = true;
  (void)swap_words(Step::Planned, std::move(out));
  return among_peers;
}

/// Which ranks will send is not known: all have once each rank's messages have been received, which
/// a barrier tells. (Hoefler, Siebert, Lumsdaine: Scalable communication protocols for dynamic
/// sparse data exchange, 2010.)
std::map<int, Words> Setup::deal(std::map<int, Words> out) {
  constexpr int kTag = peers::kPlanningTag + static_cast<int>(Step::Transfers);
  std::map<int, Words> in;
  Sends sends(comm_);
  for (auto& [rank, words] : out) sends.begin(rank, kTag, std::move(words), true);
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool received_all = false;
  for (Backoff backoff; !received_all; backoff.pause()) {
    meanwhile_();
    Words words;
    if (const int source = receive_one(comm_, MPI_ANY_SOURCE, kTag, words); source >= 0) {
      in[source] = std::move(words);
    } else if (barrier != MPI_REQUEST_NULL) {
      int done = 0;
      mpi::check(mpi::real_mpi().MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Test");
      received_all = done != 0;
    } else if (sends.are_done()) {
      mpi::check(mpi::real_mpi().MPI_Ibarrier(comm_, &barrier), "MPI_Ibarrier");
    }
  }
  return in;
}

void Setup::leave(const std::string& reason) noexcept {
  if (collective_ || std::exchange(over_, true)) return;
  const auto or_warn = [](int rank, const auto& call) {
    try {
      call();
    } catch (const std::exception& error) {
      log::warn("rank {} is not told that an exchange can't be planned: {}", rank, error.what());
    }
  };
  Sends sends(comm_);
  for (const int rank : staying_)
    or_warn(rank, [&] { sends.begin(rank, peers::kPeersTag, leaving(reason), false); });
  // Each peer takes its next step, whatever this rank does: its message is received here.
  for (const int rank : staying_)
    or_warn(rank, [&] { (void)receive_from({rank}, peers::kPeersTag); });
  or_warn(rank_, [&] {
    for (Backoff backoff; !sends.are_done(); backoff.pause()) meanwhile_();
  });
}

}  // namespace strake::exchange::planned
