// Contiguous messages between pairs of ranks: one way at a time, both ways at once, several pairs
// at once.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "buffer.hpp"
#include "cases.hpp"
#include "data.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/wire.hpp"

namespace strake::measure {
namespace {

using mpi::Wire;

constexpr int kMessageTag = 2;

/// Contiguous bytes going to a peer and coming from it.
class Messages : public Instance {
 public:
  /// `ranks`: pairs, as Job::pairs gives them. `wire`: Host, as Strake names packed host bytes to
  /// MPI; Device, in one piece.
  Messages(const Job& job, const Device& device, std::vector<int> ranks, std::int64_t bytes,
           MemoryKind wire)
      : job_(job),
        device_(device),
        ranks_(std::move(ranks)),
        bytes_(bytes),
        send_wire_(wire, bytes, MPI_PROC_NULL, MPI_COMM_WORLD),  // not to the process itself
        receive_wire_(wire, bytes),
        me_(static_cast<std::size_t>(std::find(ranks_.begin(), ranks_.end(), job.rank()) -
                                     ranks_.begin())),
        peer_(me_ < ranks_.size() ? ranks_[me_ ^ 1U] : -1),
        outgoing_(peer_ < 0 ? 0 : bytes + mpi::kWireRoom, device),
        incoming_(peer_ < 0 ? 0 : bytes + mpi::kWireRoom, device) {
    if (peer_ < 0) return;
    fill_pattern(outgoing_.host(), bytes, job.rank());
    mpi::prepare_send(MemoryKind::Host, outgoing_.host(), bytes);
    outgoing_.upload();
  }

  double run(std::int64_t iterations) final {
    if (peer_ < 0) return 0;
    device_.use();
    job_.meet(ranks_);
    return exchange(iterations);
  }

  void verify() final {
    if (peer_ < 0) return;
    // The sender's last byte may lie apart; it arrives behind the others.
    incoming_.download();
    expect_pattern(incoming_.host(), bytes_, peer_);
  }

 protected:
  virtual double exchange(std::int64_t iterations) = 0;

  [[nodiscard]] bool first() const noexcept { return me_ % 2 == 0; }
  void send() const {
    mpi::check(PMPI_Send(outgoing_.data(), send_wire_.count(), send_wire_.type(), peer_,
                         kMessageTag, job_.comm()),
               "MPI_Send");
  }
  void receive() const {
    mpi::check(PMPI_Recv(incoming_.data(), receive_wire_.count(), receive_wire_.type(), peer_,
                         kMessageTag, job_.comm(), MPI_STATUS_IGNORE),
               "MPI_Recv");
  }
  [[nodiscard]] MPI_Request start_send() const {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(PMPI_Isend(outgoing_.data(), send_wire_.count(), send_wire_.type(), peer_,
                          kMessageTag, job_.comm(), &request),
               "MPI_Isend");
    return request;
  }
  [[nodiscard]] MPI_Request start_receive() const {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(PMPI_Irecv(incoming_.data(), receive_wire_.count(), receive_wire_.type(), peer_,
                          kMessageTag, job_.comm(), &request),
               "MPI_Irecv");
    return request;
  }

 private:
  const Job& job_;
  Device device_;
  std::vector<int> ranks_;
  std::int64_t bytes_;
  Wire send_wire_;
  Wire receive_wire_;
  std::size_t me_;
  int peer_;  // -1: this rank is in none of the pairs
  Buffer outgoing_;
  Buffer incoming_;
};

/// There and back, by blocking calls.
class RoundTrip final : public Messages {
 public:
  using Messages::Messages;

 private:
  double exchange(std::int64_t iterations) override {
    return time_round_trips(
        iterations, first(), [this] { send(); }, [this] { receive(); });
  }
};

/// There and back, with waits that give the core away: there may be more ranks than cores.
class PatientRoundTrip final : public Messages {
 public:
  using Messages::Messages;

 private:
  double exchange(std::int64_t iterations) override {
    const auto once = [this] {
      MPI_Request incoming = start_receive();
      if (!first()) finish(incoming);
      MPI_Request outgoing = start_send();
      finish(outgoing);
      if (first()) finish(incoming);
    };
    return time_calls(iterations, once) / 2;
  }
};

/// Both ways at once: the pair of a halo exchange.
class BothWays final : public Messages {
 public:
  using Messages::Messages;

 private:
  double exchange(std::int64_t iterations) override {
    return time_calls(iterations, [this] {
      MPI_Request requests[2] = {start_receive(), start_send()};
      mpi::check(PMPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    });
  }
};

template <typename Kind>
Case& add_message(Cases& cases, const Job& job, const Device& device, std::string name,
                  const std::vector<int>& ranks, std::int64_t bytes, bool quick,
                  MemoryKind wire = MemoryKind::Device) {
  Case& added = add(cases, std::move(name), bytes, [&job, device, ranks, bytes, wire] {
    return std::make_unique<Kind>(job, device, ranks, bytes, wire);
  });
  added.quick = quick;
  added.scope = Scope::Job;
  return added;
}

/// Closer where libraries change their protocol: at powers of two, less their headers.
constexpr std::array<std::int64_t, 17> kSizes = {
    1,        4,         16,        64,        256,        kKiB, 2 * kKiB, 3 * kKiB, 4 * kKiB,
    8 * kKiB, 16 * kKiB, 32 * kKiB, 64 * kKiB, 256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB};

}  // namespace

void add_messages(const Job& job, const Device& device, std::vector<Case>& cases) {
  const bool host = device.driver == nullptr;
  for (const Path path : {Path::Node, Path::Network}) {
    const std::vector<int> pair = job.pair(path);
    if (pair.empty()) continue;
    const std::string prefix = std::string("mpi/") + name_of(path);
    const std::string one_way = prefix + (host ? "/host" : "/device");
    const std::string both_ways = prefix + (host ? "/both-ways" : "/device/both-ways");
    for (const std::int64_t bytes : kSizes) {
      // The quick ones stand where the curve bends: latency, eager limit, and where bandwidth
      // rules.
      const bool quick = among({1, kKiB, 4 * kKiB, 16 * kKiB, 256 * kKiB, 4 * kMiB}, bytes);
      add_message<RoundTrip>(cases, job, device, one_way, pair, bytes, quick);
      if (!host) continue;
      add_message<RoundTrip>(cases, job, device, prefix + "/packed", pair, bytes, quick,
                             MemoryKind::Host);
    }
    for (std::int64_t bytes = 64; bytes <= 16 * kMiB; bytes *= 16) {
      const bool quick = among({16 * kKiB, 4 * kMiB}, bytes);
      add_message<BothWays>(cases, job, device, both_ways, pair, bytes, quick);
    }
  }
}

void add_pairs(const Job& job, std::vector<Case>& cases) {
  for (const Path path : {Path::Node, Path::Network}) {
    const std::vector<int> all = job.pairs(path);
    const auto most = static_cast<std::int64_t>(all.size() / 2);
    if (most < 2) continue;  // one pair alone contends with nobody
    std::vector<std::int64_t> counts;
    for (std::int64_t pairs = 1; pairs < most; pairs *= 2) counts.push_back(pairs);
    counts.push_back(most);
    for (const std::int64_t bytes : {std::int64_t{64}, 16 * kKiB, 256 * kKiB, 4 * kMiB}) {
      for (const std::int64_t pairs : counts) {
        const std::vector<int> ranks(all.begin(), all.begin() + 2 * pairs);
        const bool quick = pairs == most && among({16 * kKiB, 4 * kMiB}, bytes);
        add_message<PatientRoundTrip>(cases, job, Device{},
                                      std::string("mpi/") + name_of(path) + "/pairs", ranks, bytes,
                                      quick)
            .count = pairs;
      }
    }
  }
}

}  // namespace strake::measure
