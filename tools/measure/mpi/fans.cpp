// One device that sends to many peers at once, or receives from many: what its links to the others
// carry together.
#include <algorithm>
#include <string>
#include <utility>

#include "buffer.hpp"
#include "cases.hpp"
#include "mpi/real_mpi.hpp"

namespace strake::measure {
namespace {

constexpr int kFanTag = 7;

enum class Flow : std::uint8_t { Egress, Ingress };

/// `bytes` between the first of `ranks` and each of the others, all at once.
class Fan final : public Instance {
 public:
  Fan(const Job& job, const Device& device, std::vector<int> ranks, std::int64_t bytes, Flow flow)
      : job_(job),
        device_(device),
        ranks_(std::move(ranks)),
        bytes_(bytes),
        flow_(flow),
        part_(std::find(ranks_.begin(), ranks_.end(), job.rank()) != ranks_.end()),
        buffer_(part_ ? bytes * (hub() ? peers() : 1) : 0, device) {
    if (!part_ || hub() != (flow == Flow::Egress)) return;
    fill_pattern(buffer_.host(), bytes * (hub() ? peers() : 1), job.rank());
    buffer_.upload();
  }

  double run(std::int64_t iterations) override {
    if (!part_) return 0;
    device_.use();
    job_.meet(ranks_);
    const Stopwatch watch;
    std::vector<MPI_Request> requests(ranks_.size(), MPI_REQUEST_NULL);
    for (std::int64_t i = 0; i < iterations; ++i) {
      if (hub()) {
        for (std::size_t peer = 1; peer < ranks_.size(); ++peer) {
          requests[peer] = start(static_cast<std::int64_t>(peer - 1), ranks_[peer]);
        }
      } else {
        requests[0] = start(0, ranks_[0]);
      }
      mpi::check(
          PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    }
    job_.meet(ranks_);  // a send may end before its bytes are there
    return watch.seconds();
  }

  void verify() override {
    if (!part_ || hub() != (flow_ == Flow::Ingress)) return;
    buffer_.download();
    if (!hub()) {
      const auto me = std::find(ranks_.begin() + 1, ranks_.end(), job_.rank());
      expect_pattern(buffer_.host(), bytes_, ranks_[0], (me - ranks_.begin() - 1) * bytes_);
      return;
    }
    for (std::int64_t peer = 0; peer < peers(); ++peer) {
      expect_pattern(buffer_.host() + peer * bytes_, bytes_,
                     ranks_[static_cast<std::size_t>(peer) + 1]);
    }
  }

 private:
  [[nodiscard]] bool hub() const { return job_.rank() == ranks_[0]; }
  [[nodiscard]] std::int64_t peers() const { return static_cast<std::int64_t>(ranks_.size()) - 1; }

  MPI_Request start(std::int64_t part, int rank) const {
    auto* const data = static_cast<std::byte*>(buffer_.data()) + part * bytes_;
    const auto count = static_cast<int>(bytes_);
    MPI_Request request = MPI_REQUEST_NULL;
    if (hub() == (flow_ == Flow::Egress)) {
      mpi::check(PMPI_Isend(data, count, MPI_BYTE, rank, kFanTag, job_.comm(), &request),
                 "MPI_Isend");
    } else {
      mpi::check(PMPI_Irecv(data, count, MPI_BYTE, rank, kFanTag, job_.comm(), &request),
                 "MPI_Irecv");
    }
    return request;
  }

  const Job& job_;
  Device device_;
  std::vector<int> ranks_;
  std::int64_t bytes_;
  Flow flow_;
  bool part_;
  Buffer buffer_;
};

}  // namespace

void add_fans(const Job& job, const Device& device, std::vector<Case>& cases) {
  const std::vector<int> ranks = job.node();
  // Ranks take the devices in turn: past the last one a peer would be no other device.
  const auto devices = static_cast<std::size_t>(device.driver->devices());
  const auto most = static_cast<std::int64_t>(std::min(ranks.size(), devices)) - 1;
  for (const Flow flow : {Flow::Egress, Flow::Ingress}) {
    const std::string name =
        std::string("mpi/node/device/") + (flow == Flow::Egress ? "egress" : "ingress");
    for (const std::int64_t bytes : {kMiB, 16 * kMiB, 64 * kMiB}) {
      for (std::int64_t peers = 1; peers <= most;
           peers = peers < most ? std::min(2 * peers, most) : most + 1) {
        const std::vector<int> some(ranks.begin(), ranks.begin() + peers + 1);
        // All that leaves or enters the one device.
        Case& added = add(cases, name, bytes * peers, [&job, device, some, bytes, flow] {
          return std::make_unique<Fan>(job, device, some, bytes, flow);
        });
        added.count = peers;
        added.quick = peers == most && bytes == 16 * kMiB;
        added.scope = Scope::Job;
      }
    }
  }
}

}  // namespace strake::measure
